package slots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/tenant"
)

// twin is a request in the core and in the model.
type twin struct {
	core  *Request
	model *modelRequest
	id    string
}

// machine runs the core and the model side by side.
type machine struct {
	core  *Core
	model *model
	tiers *tenant.Tiers
	now   int64
	all   []*twin // requests that wait or hold
	of    map[*Request]*twin
	lanes map[string]*lane // the core's, before the operation
}

func newMachine(t *rapid.T, rule Rule) *machine {
	tiers, err := tenant.NewTiers("s1",
		tenant.Tier{Name: "s1", Share: 1}, tenant.Tier{Name: "s2", Share: 2, Ceiling: 3},
		tenant.Tier{Name: "s3", Share: 3, Ceiling: 3, Streams: 1}, tenant.Tier{Name: "s7", Share: 7, Streams: 3})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Rule:       rule,
		Capacity:   rapid.IntRange(1, 8).Draw(t, "capacity"),
		Tiers:      tiers,
		MaxQueue:   rapid.SampledFrom([]int{100, 100, 100, 3, 1, 0}).Draw(t, "maxQueue"),
		MaxWaiting: rapid.SampledFrom([]int{1000, 1000, 9, 9, 4, 0}).Draw(t, "maxWaiting"),
		MaxWait:    rapid.SampledFrom([]int64{0, 5000 * ms, 50 * ms}).Draw(t, "maxWait"),
	}
	m := &machine{core: New(cfg), model: newModel(cfg), tiers: tiers, of: map[*Request]*twin{}}
	if _, err := tiers.Watch(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) CheckTier(tenant.Tier) error { return nil }

func (m *machine) TierChanged(id string) {
	m.core.Retune(m.now, id)
	m.step()
	m.model.retune(id)
}

// step moves the model to the machine's time, before the model's part of an operation.
func (m *machine) step() {
	m.model.step(m.now)
	m.model.forget(func(id string) bool { return m.core.lanes[id] == m.lanes[id] })
}

func drawID(t *rapid.T) string { return fmt.Sprint("t", rapid.IntRange(0, 11).Draw(t, "tenant")) }

// drawTwin returns one of those who wait or hold; nil: there are none.
func (m *machine) drawTwin(t *rapid.T) *twin {
	if len(m.all) == 0 {
		return nil // nobody waits or holds
	}
	return m.all[rapid.IntRange(0, len(m.all)-1).Draw(t, "request")]
}

func drawTenant(t *rapid.T) tenant.Tenant {
	return tenant.Tenant{ID: drawID(t), Tier: rapid.SampledFrom([]string{"", "s1", "s2", "s3", "s7"}).Draw(t, "tier")}
}

func (m *machine) newTwin(id string, width int, deadline int64) *twin {
	w := &twin{
		core: &Request{Width: width, Deadline: deadline}, model: &modelRequest{width: max(width, 1), deadline: deadline}, id: id,
	}
	m.all = append(m.all, w)
	m.of[w.core] = w
	return w
}

func (m *machine) enter(t *rapid.T, who tenant.Tenant, try bool) {
	width := rapid.SampledFrom([]int{0, 1, 1, 1, 1, 2, 3, 9}).Draw(t, "width")
	deadline := rapid.SampledFrom([]int64{0, 0, 1, ms, 30 * ms, 2000 * ms}).Draw(t, "deadline")
	if deadline > 0 {
		deadline += m.now
	}
	w := m.newTwin(who.ID, width, deadline)
	if try {
		m.core.TryEnter(m.now, w.core, who)
	} else {
		m.core.Enter(m.now, w.core, who)
	}
	m.step()
	m.model.enter(w.model, who, try)
}

func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"enter": func(t *rapid.T) { m.enter(t, drawTenant(t), false) },
		"burst": func(t *rapid.T) {
			who := drawTenant(t)
			for range rapid.IntRange(2, 8).Draw(t, "requests") {
				m.enter(t, who, false)
				m.check(t)
			}
		},
		"try": func(t *rapid.T) { m.enter(t, drawTenant(t), true) },
		"stream": func(t *rapid.T) {
			who := drawTenant(t)
			w := m.newTwin(who.ID, 0, 0)
			m.core.Stream(m.now, w.core, who)
			m.step()
			m.model.stream(w.model, who)
		},
		"come late": func(t *rapid.T) {
			who := drawTenant(t)
			w := m.newTwin(who.ID, 1, 1)
			m.core.Refuse(m.now, w.core, who)
			m.step()
			m.model.late(w.model, who)
		},
		"leave": func(t *rapid.T) {
			w := m.drawTwin(t)
			if w == nil {
				return
			}
			m.core.Leave(m.now, w.core)
			m.step()
			m.model.leave(w.model, Done)
		},
		"expire": func(t *rapid.T) {
			w := m.drawTwin(t)
			if w == nil {
				return
			}
			m.core.Expire(m.now, w.core)
			m.step()
			m.model.leave(w.model, Refused)
		},
		"wait": func(t *rapid.T) {
			m.now += rapid.SampledFrom([]int64{1, ms, 20 * ms, 60 * ms, 900 * ms, 2500 * ms, 8000 * ms, 11_000 * ms, -20 * ms}).Draw(t, "for")
		},
		"tick": func(t *rapid.T) {
			m.core.Tick(m.now)
			m.step()
			for len(m.model.waiting) > 0 && m.model.maxWait > 0 && m.model.waiting[0].arrived+m.model.maxWait <= m.model.now {
				m.model.refuse(m.model.waiting[0], m.model.overdue(m.model.waiting[0].of))
			}
			m.model.dispatch()
		},
		"resize": func(t *rapid.T) {
			n := rapid.IntRange(1, 8).Draw(t, "capacity")
			m.core.Resize(m.now, n)
			m.step()
			m.model.capacity = n
			m.model.retune("")
		},
		"assign": func(t *rapid.T) {
			if err := m.tiers.Assign(drawID(t), rapid.SampledFrom([]string{"s1", "s2", "s3", "s7"}).Draw(t, "tier")); err != nil {
				t.Fatal(err)
			}
		},
		"unassign": func(t *rapid.T) { m.tiers.Unassign(drawID(t)) },
		"define": func(t *rapid.T) {
			share := rapid.IntRange(1, 6).Draw(t, "share")
			tier := tenant.Tier{Name: rapid.SampledFrom([]string{"s1", "s2", "s7"}).Draw(t, "tier"), Share: share}
			tier.Streams = rapid.IntRange(0, 2).Draw(t, "streams")
			if rapid.Bool().Draw(t, "capped") {
				tier.Ceiling = share + rapid.IntRange(0, 3).Draw(t, "more")
			}
			if err := m.tiers.Define(tier); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// shut drains or closes.
func (m *machine) shut(t *rapid.T) {
	m.model.closing = true
	if rapid.Bool().Draw(t, "drain") {
		m.core.Drain()
		return
	}
	m.core.Close()
	for len(m.model.waiting) > 0 {
		m.model.refuse(m.model.waiting[0], tenant.ReasonClosing)
	}
	m.check(t)
}

// check compares what the two decided, and looks at the core's own sums and order.
func (m *machine) check(t *rapid.T) {
	var got, want []*twin
	m.core.Decided(func(r *Request) { got = append(got, m.of[r]) })
	for _, r := range m.model.decided {
		i := slices.IndexFunc(m.all, func(w *twin) bool { return w.model == r })
		want = append(want, m.all[i])
	}
	m.model.decided = nil
	if !slices.Equal(got, want) {
		t.Fatalf("decided about %s, want %s", names(got), names(want))
	}
	for _, w := range m.all {
		got, want := w.core, w.model
		if got.State != want.state || got.State == Refused && (got.Reason != want.reason || got.Late != want.late) {
			t.Fatalf("a request of %s is in state %d (%q, late: %v), want %d (%q, %v)",
				w.id, got.State, got.Reason, got.Late, want.state, want.reason, want.late)
		}
		if got.State == Granted && got.slots != want.slots {
			t.Fatalf("a request of %s holds %d slots, want %d", w.id, got.slots, want.slots)
		}
	}
	m.all = slices.DeleteFunc(m.all, func(w *twin) bool {
		done := w.core.State == Done || w.core.State == Refused
		if done {
			delete(m.of, w.core)
		}
		return done
	})
	for _, known := range m.model.tenants {
		if m.core.lanes[known.id] == nil {
			t.Fatalf("%s is forgotten too early", known.id)
		}
	}
	due := int64(math.MaxInt64)
	for _, r := range m.model.waiting {
		if m.model.maxWait > 0 {
			due = min(due, r.arrived+m.model.maxWait)
		}
	}
	for _, l := range m.core.lanes {
		if !l.active && l.streams == 0 && !m.model.closing {
			due = min(due, l.parked+forgetAfter)
		}
	}
	if at, ok := m.core.Next(); at != due || ok != (due < math.MaxInt64) {
		t.Fatalf("the next tick is due at %d (%v), want %d", at, ok, due)
	}
	m.lanes = maps.Clone(m.core.lanes)
	m.checkSums(t)
}

func names(ws []*twin) (out []string) {
	for _, w := range ws {
		out = append(out, fmt.Sprintf("%s(%d)", w.id, w.core.State))
	}
	return out
}

// checkSums checks what must hold of the core at any moment, whatever the rule.
func (m *machine) checkSums(t *rapid.T) {
	c := m.core
	inUse, waiting, streams, active, idle := 0, 0, 0, 0, 0
	for id, l := range c.lanes {
		if l.inUse < 0 || l.active != (l.inUse > 0 || l.queue.len > 0) {
			t.Fatalf("%s: %d in use, %d waiting, active %v", id, l.inUse, l.queue.len, l.active)
		}
		inUse += l.inUse
		waiting += l.queue.len
		streams += l.streams
		if l.active {
			active += l.share
		} else if l.streams == 0 {
			idle++
		}
		wanted := 0
		for e := l.queue.head; e != nil; e = e.next {
			wanted += e.elem.width()
		}
		if wanted != l.wanted {
			t.Fatalf("%s: its waiters want %d slots, it says %d", id, wanted, l.wanted)
		}
		if (l.places[ready] > 0) != c.mayRun(l) || (l.places[longest] > 0) != (l.queue.len > 0 && c.full) {
			t.Fatalf("%s: places in the heaps are %v with %d waiting, %d in use", id, l.places, l.queue.len, l.inUse)
		}
		if l.places[ready] > 0 && c.heaps[ready].entries[l.places[ready]-1] != c.order(l) {
			t.Fatalf("%s: its place among those that may run is that of another time", id)
		}
	}
	if inUse != c.inUse || waiting != c.queue.len || streams != c.streams || active != c.activeShares || idle != c.idle.len {
		t.Fatalf("sums over the lanes: %d in use, %d waiting, %d streams, %d active shares, %d idle; the core has %d, %d, %d, %d, %d",
			inUse, waiting, streams, active, idle, c.inUse, c.queue.len, c.streams, c.activeShares, c.idle.len)
	}
	for i, h := range c.heaps {
		for j, e := range h.entries {
			if e.lane.places[i] != j+1 || j > 0 && e.before(&h.entries[(j-1)/2]) {
				t.Fatalf("heap %d is out of order at %d", i, j)
			}
		}
	}
}

// finish ends every request, as the end of any service does, and expects an empty core.
func (m *machine) finish(t *rapid.T) {
	for _, w := range slices.Clone(m.all) {
		m.core.Leave(m.now, w.core)
		m.core.Decided(func(*Request) {})
	}
	for _, w := range m.all {
		m.core.Leave(m.now, w.core)
	}
	if !m.core.Idle() {
		t.Fatalf("all requests left: %d in use, %d waiting", m.core.inUse, m.core.queue.len)
	}
	m.core.Tick(m.core.now + forgetAfter)
	if n := len(m.core.lanes); n > 0 {
		t.Fatalf("%d tenants are remembered after ten idle seconds", n)
	}
}

func TestCore_DecidesAsTheModel(t *testing.T) {
	for name, rule := range map[string]Rule{"fair": Fair, "hard": Hard} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := newMachine(t, rule)
				actions := m.actions()
				actions[""] = m.check
				for range 10 {
					t.Repeat(actions)
				}
				m.shut(t)
				t.Repeat(actions)
				m.finish(t)
			})
		})
	}
}
