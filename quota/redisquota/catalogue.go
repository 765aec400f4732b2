package redisquota

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/tenantgate/tenantgate/tenant"
)

// catalogues knows when the tiers of each catalogue were defined anew: the buckets on them cannot all be visited then,
// so each is settled when it is next touched, as of that moment.
type catalogues struct{ m sync.Map } // *tenant.Tiers to *catalogue

// of returns what is known of a catalogue.
func (c *catalogues) of(tiers *tenant.Tiers) *catalogue {
	if known, ok := c.m.Load(tiers); ok {
		return known.(*catalogue)
	}
	known, _ := c.m.LoadOrStore(tiers, &catalogue{tiers: tiers, limits: limitsOf(tiers)})
	return known.(*catalogue)
}

type catalogue struct {
	tiers   *tenant.Tiers
	changed atomic.Pointer[definitions] // nil: nothing was

	mu     sync.Mutex
	limits map[string]limit // of each tier when it was last looked at
}

// definitions says when tiers were last defined anew, in microseconds of the server's clock. It does not change.
type definitions struct {
	at     map[string]float64 // by name; 0: not since
	latest float64
}

type limit struct {
	rate  float64
	burst int
}

func limitsOf(tiers *tenant.Tiers) map[string]limit {
	limits := map[string]limit{}
	for _, t := range tiers.All() {
		limits[t.Name] = limit{t.Rate, t.Burst}
	}
	return limits
}

// look looks which tiers are others now than they were before.
func (c *catalogue) look(now float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := &definitions{at: maps.Clone(c.definitions().at), latest: c.definitions().latest}
	if next.at == nil {
		next.at = map[string]float64{}
	}
	limits := limitsOf(c.tiers)
	for name, l := range limits {
		if l != c.limits[name] {
			next.at[name], next.latest = now, now
		}
	}
	c.limits = limits
	c.changed.Store(next)
}

func (c *catalogue) definitions() *definitions {
	if d := c.changed.Load(); d != nil {
		return d
	}
	return &definitions{}
}
