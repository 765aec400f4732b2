package slots

import (
	"maps"
	"math"

	"github.com/tenantgate/tenantgate/tenant"
)

// advance moves the clock, which never goes back, and forgets a little: a call makes at most one lane idle, so two
// keep pace.
func (c *Core) advance(now int64) {
	c.now = max(c.now, now)
	c.forget(2)
}

// laneOf returns t's lane, with what t says about its tier taken in. A new lane is idle.
func (c *Core) laneOf(t tenant.Tenant) *lane {
	if l, ok := c.lanes[t.ID]; ok {
		if merged := l.asserted.Merge(t.Assertion()); merged != l.asserted {
			l.asserted = merged
			c.adopt(l)
			c.update(l)
			c.dispatch()
		}
		return l
	}
	c.births++
	l := &lane{id: t.ID, asserted: t.Assertion(), tag: math.Inf(-1), hold: -1, born: c.births, idleSince: c.now}
	l.queue.of = func(r *Request) *links[Request] { return &r.inLane }
	c.adopt(l)
	c.lanes[t.ID] = l
	c.peak = max(c.peak, len(c.lanes))
	c.idle.push(l)
	return l
}

// adopt gives the lane the tier that applies to it now. An update of the lane has to follow.
func (c *Core) adopt(l *lane) {
	t := c.tiers.For(tenant.Tenant{ID: l.id, Tier: l.asserted.Tier})
	if l.active {
		c.activeShares += t.Share - l.share
	}
	l.tier, l.share, l.ceiling = t.Name, t.Share, t.Ceiling
}

// begin makes the lane active before a request of it enters. A tenant that begins to wait has no more credit than the
// rule gives, and an idle one has lived down a part of its past.
func (c *Core) begin(l *lane) {
	if !l.active {
		left := 1 - float64(c.now-l.idleSince)/forgetAfter
		l.tag = min(l.tag, c.virtual+aheadSeconds*left)
		l.active = true
		c.activeShares += l.share
		c.idle.remove(l)
	}
	if l.queue.len == 0 {
		l.tag = max(l.tag, c.leastTag())
	}
}

// leastTag is the tag of a tenant that has all the credit it may have. Some lane must be active.
func (c *Core) leastTag() float64 {
	return max(c.virtual-creditSeconds*min(1, float64(c.capacity)/float64(c.activeShares)), 0)
}

// rest makes the lane idle if it neither holds nor waits any more.
func (c *Core) rest(l *lane) {
	if !l.active || l.inUse > 0 || l.queue.len > 0 {
		return
	}
	l.active = false
	l.idleSince = c.now
	c.activeShares -= l.share
	c.idle.push(l)
}

// forget drops at most n of the lanes that have been idle for long enough.
func (c *Core) forget(n int) {
	for l := c.idle.head; l != nil && n > 0 && l.idleSince+forgetAfter <= c.now; l = c.idle.head {
		c.idle.remove(l)
		delete(c.lanes, l.id)
		n--
	}
	if c.peak > 1024 && len(c.lanes) < c.peak/4 {
		c.lanes = maps.Collect(maps.All(c.lanes)) // a map keeps the memory of its largest size
		c.peak = len(c.lanes)
	}
}

// update puts the lane where it belongs after its use, its queue or its tier changed. A tenant that waits for its own
// ceiling is not behind for the others' sake: it gets no more credit by that than by idleness.
func (c *Core) update(l *lane) {
	for c.rule == Hard && c.pass(l) {
	}
	ready := c.mayRun(l)
	if l.queue.len > 0 && !ready {
		l.tag = max(l.tag, c.leastTag())
	}
	c.ready.set(l, ready)
	c.longest.set(l, l.queue.len > 0)
}

// rebuild is update for all lanes at once, where the order between them changed.
func (c *Core) rebuild() {
	for r := c.queue.head; c.rule == Hard && r != nil; r = r.inQueue.next {
		if r.pass == 0 {
			c.pass(r.lane)
		}
	}
	c.ready.clear()
	c.longest.clear()
	for _, l := range c.lanes {
		c.update(l)
	}
}

func (c *Core) mayRun(l *lane) bool { return l.queue.len > 0 && l.inUse < c.limit(l) }

// pass lets the lane's next waiter through to the queue for the capacity, and reports whether there was one and room
// in the lane.
func (c *Core) pass(l *lane) bool {
	r := l.unpassed
	if r == nil || l.inUse+l.passed >= c.limit(l) {
		return false
	}
	c.passes++
	r.pass = c.passes
	l.passed++
	l.unpassed = r.inLane.next
	return true
}

// enqueue puts r into the queue of its lane.
func (c *Core) enqueue(l *lane, r *Request) {
	r.State, r.lane, r.arrived = Waiting, l, c.now
	l.queue.push(r)
	c.queue.push(r)
	if l.unpassed == nil {
		l.unpassed = r
	}
}

// unqueue takes r out of the queue. An update of the lane has to follow.
func (c *Core) unqueue(r *Request) {
	l := r.lane
	if l.unpassed == r {
		l.unpassed = r.inLane.next
	}
	if r.pass > 0 {
		r.pass = 0
		l.passed--
	}
	l.queue.remove(r)
	c.queue.remove(r)
}
