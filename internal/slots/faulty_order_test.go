package slots

import "github.com/tenantgate/tenantgate/tenant"

// Slots that stay free while somebody waits for them.
var idles = []propertyFault{
	{"a release wakes nobody", []int{1}, Fair, wakes(func(*Core) {})},
	{"a release wakes nobody, hard", []int{1}, Hard, wakes(func(*Core) {})},
	{"more capacity wakes nobody", []int{1}, Fair, fault{resize: func(c *Core, now int64, capacity int) {
		c.advance(now)
		c.capacity = capacity
		c.rebuild()
	}}},
	{"above the share only if nobody else waits", []int{1}, Fair, wakes(onlyIfNobodyElse)},
	{"slots are kept for one who may not run", []int{1}, Fair, wakes(unlessTheOldestMayNotRun)},
	{"slots are kept for one who may not run, hard", []int{1}, Hard, wakes(unlessTheOldestMayNotRun)},
	{"whoever comes waits", []int{1}, Fair, fault{enter: func(c *Core, now int64, r *Request, t tenant.Tenant) {
		if l := c.admit(now, r, &t); l != nil {
			c.begin(l)
			c.enqueue(l, r)
		}
	}}},
}

// Orders that put somebody above its share before somebody below.
var ignoresShares = []propertyFault{
	{"least service first, whatever the share", []int{2, 6}, Fair, grantsBy(func(_ *Core, a, b *lane) bool {
		return a.tag < b.tag
	})},
	{"a shared queue", []int{2, 5, 6}, Fair, grantsBy(byArrival)},
	{"whoever exceeds its share goes first", []int{2}, Fair, grantsBy(func(c *Core, a, b *lane) bool {
		return c.below(b) && !c.below(a)
	})},
}

// Orders that are not that of arrival.
var ignoresArrival = []propertyFault{
	{"last come, first served", []int{3}, Fair, wakes(fromTheTail)},
	{"last come, first served, hard", []int{3}, Hard, wakes(fromTheTail)},
	{"a narrow request overtakes its tenant's wide one", []int{3}, Fair, overtakes(itsOwn)},
	{"a narrow request overtakes its tenant's wide one, hard", []int{3}, Hard, overtakes(itsOwn)},
	{"capacity in order of arrival, hard", []int{3}, Hard, grantsBy(byArrival)},
}

// Orders by which the excess over the shares does not divide as they do.
var ignoresExcess = []propertyFault{
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

func unlessTheOldestMayNotRun(c *Core) {
	if r := c.queue.first(); r != nil && r.lane.mayRun() {
		c.dispatch(nil)
	}
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

func byArrival(_ *Core, a, b *lane) bool { return a.queue.first().arrived < b.queue.first().arrived }

func itsOwn(l *lane) bool { return l.queue.len > 0 }

func others(l *lane) bool { return l.queue.len == 0 }
