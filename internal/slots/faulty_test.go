package slots

import (
	"github.com/tenantgate/tenantgate/tenant"
)

// fault is a core with faults: the functions that it has replace the core's own.
type fault struct {
	*Core
	enter  func(c *Core, now int64, r *Request, t tenant.Tenant)
	leave  func(c *Core, now int64, r *Request)
	expire func(c *Core, now int64, r *Request)
	resize func(c *Core, now int64, capacity int)
	tick   func(c *Core, now int64)
	close  func(c *Core)
}

// of puts the fault into a core.
func (f fault) of(c *Core) subject {
	f.Core = c
	return &f
}

func (f *fault) Enter(now int64, r *Request, t tenant.Tenant) {
	if f.enter == nil {
		f.Core.Enter(now, r, t)
		return
	}
	f.enter(f.Core, now, r, t)
}

func (f *fault) Leave(now int64, r *Request) {
	if f.leave == nil {
		f.Core.Leave(now, r)
		return
	}
	f.leave(f.Core, now, r)
}

func (f *fault) Expire(now int64, r *Request) {
	if f.expire == nil {
		f.Core.Expire(now, r)
		return
	}
	f.expire(f.Core, now, r)
}

func (f *fault) Resize(now int64, capacity int) {
	if f.resize == nil {
		f.Core.Resize(now, capacity)
		return
	}
	f.resize(f.Core, now, capacity)
}

func (f *fault) Tick(now int64) {
	if f.tick == nil {
		f.Core.Tick(now)
		return
	}
	f.tick(f.Core, now)
}

func (f *fault) Close() {
	if f.close == nil {
		f.Core.Close()
		return
	}
	f.close(f.Core)
}

// wakes is a core whose releases wake in another order, or not at all.
func wakes(dispatch func(*Core)) fault {
	return fault{leave: func(c *Core, now int64, r *Request) {
		c.advance(now)
		if l := r.lane; l != nil {
			c.end(r)
			c.update(l)
			c.rest(l)
			dispatch(c)
		}
	}}
}

// grantsBy is a core whose releases grant slots to the first of the waiters that may run, in an order of the lanes; then
// in the right one, so that no slot idles.
func grantsBy(before func(c *Core, a, b *lane) bool) fault {
	return wakes(func(c *Core) {
		grantWhile(c, func() *Request {
			var first *lane
			for _, e := range c.heaps[ready].entries {
				if first == nil || before(c, e.lane, first) {
					first = e.lane
				}
			}
			if first == nil {
				return nil
			}
			return first.queue.first()
		})
		c.dispatch(nil)
	})
}

// grantWhile grants slots to waiters while there are enough for the next; nil: there is no next.
func grantWhile(c *Core, next func() *Request) {
	for r := next(); r != nil && r.lane.need(r) <= c.capacity-c.inUse; r = next() {
		l := r.lane
		c.unqueue(r)
		c.grantTo(l, r)
		c.update(l)
		c.decided = append(c.decided, r)
	}
}

// overtakes is a core in which requests that come take free slots before those who wait for more.
func overtakes(may func(*lane) bool) fault {
	return fault{enter: func(c *Core, now int64, r *Request, t tenant.Tenant) {
		if l := c.admit(now, r, &t); l != nil {
			c.begin(l)
			if n := l.need(r); n <= c.capacity-c.inUse && l.inUse+n <= l.limit && may(l) {
				c.grantTo(l, r)
				c.update(l)
				return
			}
			c.rest(l)
			c.Enter(now, r, t)
		}
	}}
}

// keepsCredit is a core in which tenants begin to wait with all the credit that they had.
func keepsCredit(tagOf func(c *Core, id string) (tag float64, known bool)) fault {
	return fault{enter: func(c *Core, now int64, r *Request, t tenant.Tenant) {
		tag, known := tagOf(c, t.ID)
		c.Enter(now, r, t)
		if l := c.lanes[t.ID]; known && r.State == Waiting && l.queue.len == 1 {
			l.tag = min(l.tag, max(tag, 0))
			if l.mayRun() {
				c.heaps[ready].set(c.order(l))
			}
		}
	}}
}

// chargesNothing takes back what was charged for the requests that were granted.
func chargesNothing(c *Core, granted ...*Request) {
	for _, r := range granted {
		if l := r.lane; r.State == Granted {
			l.tag -= r.charged
			r.charged = 0
			c.update(l)
		}
	}
}
