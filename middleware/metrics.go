package middleware

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// others is the tenant label of all tenants without metrics of their own. No tenant can be called so.
const others = "__other__"

// metrics is what a gate counts. Each request is counted in one tally; the totals are sums over the tallies, so that they
// agree with them exactly, and cost a request nothing.
type metrics struct {
	roster roster
	nobody tally // requests whose tenant is not known
	desc   *descriptions

	unknownTiers, tierFailures, refundFailures atomic.Uint64
}

func newMetrics(gate string, top int) *metrics {
	return &metrics{roster: roster{limit: int64(top)}, desc: newDescriptions(gate)}
}

func (m *metrics) tallyOf(id string) *tally { return m.roster.of(id) }

// count counts a request that is done. A nil tally is nobody's.
func (m *metrics) count(t *tally, tier string, o *Outcome) {
	if t == nil {
		t = &m.nobody
	}
	if !tenant.ValidID(tier) { // a pool that is not ours may say anything
		tier = ""
	}
	t.forTier(tier).requests[kindOf(o)].Add(1)
}

// roster gives a tally of their own to the first tenants that come, for good, and one together to all others. So no
// counter ever goes down, no request is counted twice, and memory is bounded.
type roster struct {
	limit  int64
	others tally

	known sync.Map     // of *tally, by tenant ID
	n     atomic.Int64 // how many known has
	mu    sync.Mutex   // held to add to known
}

func (ro *roster) of(id string) *tally {
	if t, ok := ro.known.Load(id); ok {
		return t.(*tally)
	}
	if ro.n.Load() >= ro.limit {
		return &ro.others
	}
	ro.mu.Lock()
	defer ro.mu.Unlock()
	if t, ok := ro.known.Load(id); ok {
		return t.(*tally)
	}
	if ro.n.Load() >= ro.limit {
		return &ro.others
	}
	t := new(tally)
	ro.known.Store(id, t)
	ro.n.Add(1)
	return t
}

// has reports whether tenant id has a tally of its own.
func (ro *roster) has(id string) bool {
	_, ok := ro.known.Load(id)
	return ok
}

// each calls f for every tally, that of the others last.
func (ro *roster) each(f func(id string, t *tally)) {
	ro.known.Range(func(id, t any) bool {
		f(id.(string), t.(*tally))
		return true
	})
	f(others, &ro.others)
}

// tally counts the requests of one tenant, or of several together. The zero tally is ready for use.
type tally struct {
	inFlight, queued, streams atomic.Int64
	waits                     histogram

	tiers atomic.Pointer[[]*tierTally] // one for each tier the tenant has been on; replaced, never changed
	mu    sync.Mutex                   // held to replace tiers
}

// tierTally counts the requests of a tally that were on one tier.
type tierTally struct {
	tier     string
	requests [len(kinds)]atomic.Uint64
}

// forTier finds the counters of a tier. A tenant is on one or two, so a search beats a map.
func (t *tally) forTier(tier string) *tierTally {
	if tt := t.find(tier); tt != nil {
		return tt
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if tt := t.find(tier); tt != nil {
		return tt
	}
	fresh := &tierTally{tier: tier}
	all := append(slices.Clone(t.all()), fresh)
	t.tiers.Store(&all)
	return fresh
}

func (t *tally) find(tier string) *tierTally {
	for _, tt := range t.all() {
		if tt.tier == tier {
			return tt
		}
	}
	return nil
}

func (t *tally) all() []*tierTally {
	if all := t.tiers.Load(); all != nil {
		return *all
	}
	return nil
}

// kind is what requests are told apart by, beside tenant and tier.
type kind struct {
	outcome Result
	reason  string
}

// kinds are all there are; the last is for reasons that are not ours.
var kinds = [...]kind{
	{Admitted, ""}, {Cancelled, ""}, {Skipped, ""}, {Unauthenticated, ""}, {Forbidden, ""}, {Failed, ""},
	{Refused, string(tenant.ReasonPlan)}, {Refused, string(tenant.ReasonTenant)}, {Refused, string(tenant.ReasonWindow)},
	{Refused, string(tenant.ReasonGlobal)}, {Refused, string(tenant.ReasonShare)}, {Refused, string(tenant.ReasonCapacity)},
	{Refused, string(tenant.ReasonClosing)}, {Refused, string(tenant.ReasonUnavailable)}, {Refused, "other"},
}

func kindOf(o *Outcome) int {
	for i := range kinds {
		if kinds[i].outcome == o.Result && kinds[i].reason == string(o.Reason) {
			return i
		}
	}
	return len(kinds) - 1
}

// waitBuckets are the upper bounds of the histogram of waits.
var waitBuckets = [...]time.Duration{
	time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// histogram counts waits.
type histogram struct {
	buckets [len(waitBuckets) + 1]atomic.Uint64 // the last: above all bounds
	nanos   atomic.Int64
}

func (h *histogram) observe(wait time.Duration) {
	i := 0
	for i < len(waitBuckets) && wait > waitBuckets[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.nanos.Add(int64(wait))
}
