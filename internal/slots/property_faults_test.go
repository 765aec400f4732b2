package slots

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/tenant"
)

// Each property is worth what it catches: here each meets faults, and must be the one that names them.
func TestProperties_CatchFaults(t *testing.T) {
	for flagName, value := range map[string]string{
		"rapid.nofailfile": "true", "rapid.shrinktime": "0s", "rapid.seed": "1", "rapid.checks": "500",
	} {
		before := flag.Lookup(flagName).Value.String()
		if err := flag.Set(flagName, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set(flagName, before) })
	}
	for _, tt := range []struct {
		name  string
		by    []int // the properties, any of which may be the first to see it
		rule  Rule
		fault fault
	}{
		{"a release wakes nobody", []int{1}, Fair, wakes(func(*Core) {})},
		{"a release wakes nobody, hard", []int{1}, Hard, wakes(func(*Core) {})},
		{"more capacity wakes nobody", []int{1}, Fair, fault{resize: func(c *Core, now int64, capacity int) {
			c.advance(now)
			c.capacity = capacity
			c.rebuild()
		}}},
		{"above the share only if nobody else waits", []int{1}, Fair, wakes(onlyIfNobodyElse)},
		{"slots are kept for one who may not run", []int{1}, Fair, wakes(func(c *Core) {
			if r := c.queue.first(); r != nil && r.lane.mayRun() {
				c.dispatch(nil)
			}
		})},
		{"slots are kept for one who may not run, hard", []int{1}, Hard, wakes(func(c *Core) {
			if r := c.queue.first(); r != nil && r.lane.mayRun() {
				c.dispatch(nil)
			}
		})},
		{"whoever comes waits", []int{1}, Fair, fault{enter: func(c *Core, now int64, r *Request, t tenant.Tenant) {
			if l := c.admit(now, r, &t); l != nil {
				c.begin(l)
				c.enqueue(l, r)
			}
		}}},

		{"least service first, whatever the share", []int{2}, Fair, grantsBy(func(_ *Core, a, b *lane) bool { return a.tag < b.tag })},
		{"a shared queue", []int{2, 5, 6}, Fair, grantsBy(func(_ *Core, a, b *lane) bool {
			return a.queue.first().arrived < b.queue.first().arrived
		})},
		{"whoever exceeds its share goes first", []int{2}, Fair, grantsBy(func(c *Core, a, b *lane) bool {
			return c.below(b) && !c.below(a)
		})},

		{"last come, first served", []int{3}, Fair, wakes(fromTheTail)},
		{"last come, first served, hard", []int{3}, Hard, wakes(fromTheTail)},
		{"a narrow request overtakes its tenant's wide one", []int{3}, Fair, overtakes(func(l *lane) bool { return l.queue.len > 0 })},
		{"a narrow request overtakes its tenant's wide one, hard", []int{3}, Hard, overtakes(func(l *lane) bool { return l.queue.len > 0 })},
		{"capacity in order of arrival, hard", []int{3}, Hard, grantsBy(func(_ *Core, a, b *lane) bool {
			return a.queue.first().arrived < b.queue.first().arrived
		})},

		{"over the ceiling", []int{4}, Fair, wakes(overTheLimit)},
		{"over the share, hard", []int{4}, Hard, wakes(overTheLimit)},
		{"a release counts twice", []int{4}, Fair, fault{leave: func(c *Core, now int64, r *Request) {
			if r.State == Granted {
				r.lane.inUse -= r.slots
				c.inUse -= r.slots
			}
			c.Leave(now, r)
		}}},
		{"a second release frees another's slot", []int{4}, Fair, fault{leave: func(c *Core, now int64, r *Request) {
			c.Leave(now, r)
			if l := c.lanes["t1"]; r.slots > 0 && l != nil && l.inUse > 0 {
				l.inUse--
				c.inUse--
			}
			r.slots = 1
		}}},
		{"less capacity drains nothing", []int{4}, Fair, fault{resize: func(c *Core, now int64, capacity int) {
			c.Resize(now, max(capacity, c.capacity))
		}}},

		{"credit without a bound", []int{5}, Fair, keepsCredit(func(c *Core, id string) (float64, bool) {
			if l := c.lanes[id]; l != nil {
				return l.tag, true
			}
			return 0, false
		})},
		{"debts without a bound", []int{5}, Fair, fault{leave: func(c *Core, now int64, r *Request) {
			c.advance(now)
			if l := r.lane; l != nil {
				owed := l.tag
				if r.State == Granted {
					owed += float64(c.now-r.granted)*float64(r.slots)*l.perShare - r.charged
				}
				c.end(r)
				l.tag = max(l.tag, owed)
				c.left(l)
			}
		}}},
		{"idleness pays off nothing", []int{5}, Fair, fault{enter: func(c *Core, now int64, r *Request, t tenant.Tenant) {
			if l := c.lanes[t.ID]; l != nil {
				l.idleSince = now
			}
			c.Enter(now, r, t)
		}}},
		{"waiting costs", []int{5}, Fair, fault{tick: func(c *Core, now int64) {
			for e := c.queue.head; e != nil; e = e.next {
				e.elem.lane.tag += second / 20
				c.update(e.elem.lane)
			}
			c.Tick(now)
		}}},
		{"smallest use of the share first", []int{5}, Fair, grantsBy(func(_ *Core, a, b *lane) bool {
			return float64(a.inUse)*a.perShare < float64(b.inUse)*b.perShare
		})},
		{"a narrow request overtakes a wide one", []int{2, 5, 6}, Fair, overtakes(func(l *lane) bool { return l.queue.len == 0 })},

		{"above the share, least service first", []int{6}, Fair, grantsBy(func(c *Core, a, b *lane) bool {
			if c.below(a) != c.below(b) {
				return c.below(a)
			}
			return a.tag < b.tag
		})},
		{"above the share, who exceeds it most goes first", []int{6}, Fair, grantsBy(func(c *Core, a, b *lane) bool {
			x, y := c.order(a), c.order(b)
			x.major, y.major = -x.major, -y.major
			return c.below(a) && !c.below(b) || c.below(a) == c.below(b) && x.before(&y)
		})},
		{"of equals the oldest goes first", []int{5, 6}, Fair, grantsBy(func(c *Core, a, b *lane) bool {
			x, y := c.order(a), c.order(b)
			x.last, y.last = 0, 0
			return x.before(&y)
		})},

		{"a waiter is lost when its time is over", []int{7}, Fair, fault{tick: func(c *Core, now int64) {
			c.Tick(now)
			c.decided = slices.DeleteFunc(c.decided, func(r *Request) bool { return r.State == Refused })
		}}},
		{"a waiter's time is never over", []int{7}, Fair, fault{tick: func(c *Core, now int64) {
			c.advance(now)
			c.forget(1024)
		}}},
		{"a holder whose time is over keeps its slots", []int{7}, Fair, fault{expire: func(c *Core, now int64, r *Request) {
			if r.State == Granted {
				r.State, r.lane = Refused, nil
				return
			}
			c.Expire(now, r)
		}}},
		{"who is cancelled waits on", []int{7}, Hard, fault{leave: func(c *Core, now int64, r *Request) {
			if r.State == Waiting {
				r.State = Done
				return
			}
			c.Leave(now, r)
		}}},
		{"a waiter is told twice", []int{7}, Fair, fault{leave: func(c *Core, now int64, r *Request) {
			c.Leave(now, r)
			c.decided = append(c.decided, c.decided...)
		}}},
		{"a waiter outlives the pool", []int{7}, Hard, fault{close: func(c *Core) {
			c.closing = true
			for c.queue.len > 1 {
				c.expel(c.queue.first(), tenant.ReasonClosing)
			}
		}}},

		{"forgets at once", []int{8}, Fair, fault{leave: func(c *Core, now int64, r *Request) {
			l := r.lane
			c.Leave(now, r)
			if l != nil && !l.active && l.streams == 0 {
				c.idle.remove(&l.idle)
				delete(c.lanes, l.id)
			}
		}}},
		{"never forgets", []int{8}, Hard, fault{tick: func(c *Core, now int64) {
			for _, l := range c.lanes {
				l.parked = max(now, c.now)
			}
			c.Tick(now)
		}}},
		{"forgets who streams", []int{8}, Fair, fault{tick: func(c *Core, now int64) {
			c.Tick(now)
			for id, l := range c.lanes {
				if !l.active && l.streams > 0 && l.idleSince+forgetAfter <= c.now {
					delete(c.lanes, id)
				}
			}
		}}},
		{"a stranger comes with all credit", []int{8}, Fair, keepsCredit(func(c *Core, id string) (float64, bool) {
			return 0, c.lanes[id] == nil
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			watched := &watcher{T: t}
			done := make(chan struct{})
			go func() { // rapid ends the goroutine of a test that failed
				defer close(done)
				rapid.Check(watched, keepsTheProperties(tt.rule, new(int), tt.fault.of))
			}()
			<-done
			if watched.property == 0 || !slices.Contains(tt.by, watched.property) {
				t.Errorf("caught by property %d (0: by none), want %v: %s", watched.property, tt.by, watched.failure)
			}
		})
	}
}

// onlyIfNobodyElse is the well-known rule that leaves slots idle.
func onlyIfNobodyElse(c *Core) {
	grantWhile(c, func() *Request {
		l := c.heaps[ready].first()
		if l == nil || !c.below(l) && c.queue.len > l.queue.len {
			return nil
		}
		return l.queue.first()
	})
}

func fromTheTail(c *Core) {
	grantWhile(c, func() *Request {
		if l := c.heaps[ready].first(); l != nil && l.inUse+l.need(l.queue.tail.elem) <= l.limit {
			return l.queue.tail.elem
		}
		return nil
	})
	c.dispatch(nil)
}

// overTheLimit grants slots to those first who have no more to get.
func overTheLimit(c *Core) {
	grantWhile(c, func() *Request {
		for e := c.queue.head; e != nil; e = e.next {
			if l := e.elem.lane; !l.mayRun() {
				return l.queue.first()
			}
		}
		return nil
	})
	c.dispatch(nil)
}

// watcher notes failures instead of failing.
type watcher struct {
	*testing.T
	failed   bool
	failure  string
	property int
}

var propertyOf = regexp.MustCompile(`property (\d),`)

func (w *watcher) note(format string, args ...any) {
	w.failed = true
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		if found := propertyOf.FindStringSubmatch(w.failure); found != nil {
			w.property = int(found[1][0] - '0')
		}
	}
}

func (w *watcher) Logf(string, ...any)               {}
func (w *watcher) Errorf(format string, args ...any) { w.note(format, args...) }
func (w *watcher) Fatalf(format string, args ...any) { w.note(format, args...) }
func (w *watcher) FailNow()                          { w.failed = true }
func (w *watcher) Fail()                             { w.failed = true }
func (w *watcher) Failed() bool                      { return w.failed }
