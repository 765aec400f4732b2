package slots

import (
	"cmp"
	"container/heap"
	"slices"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

const ms = int64(time.Millisecond)

// arrival is a request of a simulated load: when it comes, of whom, how long it holds its slots, and how many.
type arrival struct {
	at     int64
	tenant string
	held   int64
	width  int // 0: one
}

// served is what became of an arrival.
type served struct {
	arrival
	started int64
}

func (s served) latency() int64 { return s.started + s.held - s.at }

// event is a request that arrives or ends.
type event struct {
	at   int64
	ends bool // ends come before arrivals of the same instant, earlier ones first
	n    int
	of   int // the arrival
	r    *Request
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
func (e events) Less(i, j int) bool {
	a, b := e[i], e[j]
	if a.at != b.at {
		return a.at < b.at
	}
	if a.ends != b.ends {
		return a.ends
	}
	return a.n < b.n
}

// simulation is a load on a core in virtual time.
type simulation struct {
	rule     Rule
	capacity int
	tiers    *tenant.Tiers
	load     []arrival
	until    int64               // when it ends; 0: when all are served
	changes  []change            // in order of time
	of       func(*Core) subject // what is simulated, made of a core; nil: the core
}

// change is something else that happens to a core, before what else happens at that time.
type change struct {
	at   int64
	make func(s subject, now int64)
}

// simulate runs a load through a core. It returns what was served, in the order of grants.
func simulate(t testing.TB, rule Rule, capacity int, tiers *tenant.Tiers, load []arrival) []served {
	t.Helper()
	return simulation{rule: rule, capacity: capacity, tiers: tiers, load: load}.run(t)
}

func (s simulation) run(t testing.TB) []served {
	t.Helper()
	core := New(Config{Rule: s.rule, Capacity: s.capacity, Tiers: s.tiers, MaxQueue: 1 << 30, MaxWaiting: 1 << 30})
	var c subject = core
	if s.of != nil {
		c = s.of(core)
	}
	var queue events
	for i, a := range s.load {
		heap.Push(&queue, event{at: a.at, n: i, of: i})
	}
	out := make([]served, 0, len(s.load))
	of := make(map[*Request]int, len(s.load))
	n := len(s.load)
	start := func(now int64, r *Request) {
		a := s.load[of[r]]
		out = append(out, served{a, now})
		n++
		heap.Push(&queue, event{at: now + a.held, ends: true, n: n, of: of[r], r: r})
	}
	for queue.Len() > 0 {
		for len(s.changes) > 0 && s.changes[0].at <= queue[0].at {
			now := s.changes[0].at
			s.changes[0].make(c, now)
			s.changes = s.changes[1:]
			c.Decided(func(r *Request) { start(now, r) })
		}
		e := heap.Pop(&queue).(event)
		if s.until > 0 && e.at >= s.until {
			return out
		}
		if e.ends {
			c.Leave(e.at, e.r)
		} else {
			a := s.load[e.of]
			r := &Request{Width: a.width}
			of[r] = e.of
			c.Enter(e.at, r, tenant.Tenant{ID: a.tenant, Tier: a.tenant})
			if r.State == Granted {
				start(e.at, r)
			}
		}
		c.Decided(func(r *Request) { start(e.at, r) })
	}
	if len(out) != len(s.load) {
		t.Fatalf("%d of %d requests were served", len(out), len(s.load))
	}
	return out
}

// shares makes a catalogue with a tier for each tenant, called like the tenant.
func shares(t testing.TB, share map[string]int) *tenant.Tiers {
	t.Helper()
	var tiers []tenant.Tier
	for id, n := range share {
		tiers = append(tiers, tenant.Tier{Name: id, Share: n})
	}
	slices.SortFunc(tiers, func(a, b tenant.Tier) int { return cmp.Compare(a.Name, b.Name) })
	ts, err := tenant.NewTiers(tiers[0].Name, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// flood is n requests of a tenant at one instant.
func flood(at int64, id string, n int, held int64) []arrival {
	return slices.Repeat([]arrival{{at: at, tenant: id, held: held}}, n)
}

// slotTime is the part of the slot time between from and until that each tenant got.
func slotTime(out []served, capacity int, from, until int64) map[string]float64 {
	got := map[string]float64{}
	for _, s := range out {
		if used := min(s.started+s.held, until) - max(s.started, from); used > 0 {
			got[s.tenant] += float64(used) * float64(max(s.width, 1)) / float64(until-from) / float64(capacity)
		}
	}
	return got
}
