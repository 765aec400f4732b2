package slots

import (
	"slices"

	"github.com/tenantgate/tenantgate/tenant"
)

// More slots than there are, or than somebody may have.
var miscounts = []propertyFault{
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
}

// Whatever makes somebody below its share wait for longer.
var starves = []propertyFault{
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
	{"a narrow request overtakes a wide one", []int{2, 5, 6}, Fair, overtakes(others)},
}

// Waiters and slots that are lost.
var loses = []propertyFault{
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
}

// Memory that is too short, too long, or too kind.
var forgets = []propertyFault{
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
			if !l.active && l.streams > 0 && l.idleSince+ForgetAfter <= c.now {
				delete(c.lanes, id)
			}
		}
	}}},
	{"a stranger comes with all credit", []int{8}, Fair, keepsCredit(func(c *Core, id string) (float64, bool) {
		return 0, c.lanes[id] == nil
	})},
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
