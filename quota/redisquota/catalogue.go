package redisquota

import (
	"sync"
	"sync/atomic"

	"github.com/tenantgate/tenantgate/tenant"
)

// catalogues knows when the tiers of each catalogue were defined anew: the buckets on them cannot all be visited then,
// and each is settled when it is next touched, as of that moment.
type catalogues struct{ m sync.Map } // *tenant.Tiers to *catalogue

type catalogue struct {
	tiers *tenant.Tiers
	times atomic.Pointer[map[string]float64] // by tier, in microseconds of the server's clock; replaced, never changed

	mu     sync.Mutex
	limits map[string]limit // of each tier when it was last looked at
}

type limit struct {
	rate  float64
	burst int
}

// of returns what is known of a catalogue.
func (c *catalogues) of(tiers *tenant.Tiers) *catalogue {
	if known, ok := c.m.Load(tiers); ok {
		return known.(*catalogue)
	}
	known, _ := c.m.LoadOrStore(tiers, &catalogue{tiers: tiers, limits: limitsOf(tiers)})
	return known.(*catalogue)
}

func limitsOf(tiers *tenant.Tiers) map[string]limit {
	limits := map[string]limit{}
	for _, t := range tiers.All() {
		limits[t.Name] = limit{t.Rate, t.Burst}
	}
	return limits
}

// defined says that some tiers may have been defined anew by now: those whose limits are others than before were.
func (c *catalogue) defined(now float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limits, times := limitsOf(c.tiers), map[string]float64{}
	if old := c.times.Load(); old != nil {
		times = *old
	}
	next := make(map[string]float64, len(limits))
	for name, l := range limits {
		if at, ok := times[name]; ok {
			next[name] = at
		}
		if l != c.limits[name] {
			next[name] = now
		}
	}
	c.limits = limits
	c.times.Store(&next)
}

// definedAt returns when the tier called name was last defined anew. 0: it was not.
func (s *Store) definedAt(tiers *tenant.Tiers, name string) float64 {
	if times := s.catalogues.of(tiers).times.Load(); times != nil {
		return (*times)[name]
	}
	return 0
}
