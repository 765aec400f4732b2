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

func TestCore_DecidesAsTheModel(t *testing.T) {
	manySteps(t, func(rule Rule, made *int) func(*rapid.T) {
		return func(t *rapid.T) {
			cfg := drawConfig(t, rule)
			c := New(cfg)
			o := newObserver(c, cfg)
			defer func() { *made += o.steps }()
			newMachine(t, c, cfg.Tiers, newComparison(c, cfg), o).run(t)
		}
	})
}

// comparison makes every step of a core in the model too, and says where the two differ.
type comparison struct {
	core  *Core
	model *model
	of    map[*Request]*modelRequest
	lanes map[string]*lane // the core's, before the step
}

func newComparison(c *Core, cfg Config) *comparison {
	return &comparison{core: c, model: newModel(cfg), of: map[*Request]*modelRequest{}}
}

func (c *comparison) follow(s step) error {
	if s.op != drain && s.op != shut {
		c.model.step(s.now)
		c.model.forget(func(id string) bool { return c.core.lanes[id] == c.lanes[id] })
	}
	if s.r != nil && c.of[s.r] == nil && s.op != leave && s.op != expire {
		c.of[s.r] = &modelRequest{core: s.r, width: s.r.width(), deadline: s.r.Deadline}
	}
	c.decide(s)
	if err := c.compare(s); err != nil {
		return err
	}
	maps.DeleteFunc(c.of, func(r *Request, _ *modelRequest) bool { return r.State == Done || r.State == Refused })
	c.lanes = maps.Clone(c.core.lanes)
	return checkSums(c.core)
}

// decide makes the step in the model.
func (c *comparison) decide(s step) {
	m, r := c.model, c.of[s.r]
	switch s.op {
	case enter, try:
		m.enter(r, s.who, s.op == try)
	case stream:
		m.stream(r, s.who)
	case late:
		m.late(r, s.who)
	case leave:
		m.leave(r, Done)
	case expire:
		m.leave(r, Refused)
	case resize:
		m.capacity = s.capacity
		m.retune("")
	case retune:
		m.retune(s.id)
	case tick:
		for len(m.waiting) > 0 && m.maxWait > 0 && m.waiting[0].arrived+m.maxWait <= m.now {
			m.refuse(m.waiting[0], m.overdue(m.waiting[0]))
		}
		m.dispatch()
	case drain:
		m.closing = true
	case shut:
		m.closing = true
		for len(m.waiting) > 0 {
			m.refuse(m.waiting[0], tenant.ReasonClosing)
		}
	}
}

// compare compares what was decided, every request, and when the core wants to be called again.
func (c *comparison) compare(s step) error {
	var want []*Request
	for _, r := range c.model.decided {
		want = append(want, r.core)
	}
	c.model.decided = nil
	if !slices.Equal(s.decided, want) {
		return fmt.Errorf("decided about %s, want %s", c.names(s.decided), c.names(want))
	}
	for got, want := range c.of {
		switch {
		case got.State != want.state, got.State == Refused && (got.Reason != want.reason || got.Late != want.late):
			return fmt.Errorf("%s is refused for %q (late: %v), want state %d (%q, %v)",
				c.names([]*Request{got}), got.Reason, got.Late, want.state, want.reason, want.late)
		case got.State == Granted && got.slots != want.slots:
			return fmt.Errorf("%s holds %d slots, want %d", c.names([]*Request{got}), got.slots, want.slots)
		case got.State == Refused && got.RetryAfter != want.retryAfter:
			return fmt.Errorf("%s is to retry after %d ns, want %d", c.names([]*Request{got}), got.RetryAfter, want.retryAfter)
		}
	}
	for _, known := range c.model.tenants {
		if c.core.lanes[known.id] == nil {
			return fmt.Errorf("%s is forgotten too early", known.id)
		}
	}
	due := int64(math.MaxInt64)
	for _, r := range c.model.waiting {
		if c.model.maxWait > 0 {
			due = min(due, r.arrived+c.model.maxWait)
		}
	}
	for _, known := range c.model.tenants {
		if !known.active && known.streams == 0 && !c.model.closing {
			due = min(due, known.parked+ForgetAfter)
		}
	}
	if at := c.core.Next(); at != due {
		return fmt.Errorf("the next tick is due at %d, want %d", at, due)
	}
	return nil
}

func (c *comparison) names(rs []*Request) (out []string) {
	for _, r := range rs {
		id := "?"
		if m := c.of[r]; m != nil && m.of != nil {
			id = m.of.id
		}
		out = append(out, fmt.Sprintf("%s(%d)", id, r.State))
	}
	return out
}

// checkSums checks that the core's sums, lists and heaps say what its lanes say.
func checkSums(c *Core) error {
	inUse, waiting, streams, active, idle := 0, 0, 0, 0, 0
	numbers := make(map[int32]bool, len(c.lanes))
	for id, l := range c.lanes {
		if l.inUse < 0 || l.active != (l.inUse > 0 || l.queue.len > 0) {
			return fmt.Errorf("%s: %d in use, %d waiting, active %v", id, l.inUse, l.queue.len, l.active)
		}
		if numbers[l.number] {
			return fmt.Errorf("%s has another's number, %d", id, l.number)
		}
		numbers[l.number] = true
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
			wanted += l.need(e.elem)
		}
		if wanted != l.wanted {
			return fmt.Errorf("%s: its waiters get %d slots, it says %d", id, wanted, l.wanted)
		}
		if c.heaps[ready].has(l) != l.mayRun() || c.heaps[longest].has(l) != (l.queue.len > 0 && c.full) {
			return fmt.Errorf("%s: in the heaps: %v, %v with %d waiting, %d in use",
				id, c.heaps[ready].has(l), c.heaps[longest].has(l), l.queue.len, l.inUse)
		}
		if c.heaps[ready].has(l) && !c.heaps[ready].entries[c.heaps[ready].places[l.number]-1].equals(c.order(l)) {
			return fmt.Errorf("%s: its place among those that may run is that of another time", id)
		}
	}
	if inUse != c.inUse || waiting != c.queue.len || streams != c.streams || active != c.activeShares || idle != c.idle.len {
		return fmt.Errorf("sums over the lanes: %d in use, %d waiting, %d streams, %d active shares, %d idle; the core has %d, %d, %d, %d, %d",
			inUse, waiting, streams, active, idle, c.inUse, c.queue.len, c.streams, c.activeShares, c.idle.len)
	}
	for i, h := range c.heaps {
		for j, e := range h.entries {
			if int(h.places[e.number]) != j+1 || e.number != e.lane.number || j > 0 && e.before(&h.entries[(j-1)/degree]) {
				return fmt.Errorf("heap %d is out of order at %d", i, j)
			}
		}
	}
	return nil
}

func (a entry) equals(b entry) bool {
	b.number = b.lane.number
	return a == b
}
