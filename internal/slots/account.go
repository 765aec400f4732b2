package slots

import (
	"maps"
	"math"

	"github.com/tenantgate/tenantgate/tenant"
)

// advance moves the clock, which never goes back.
func (c *Core) advance(now int64) { c.now = max(c.now, now) }

// laneOf returns t's lane, with what t says about its tier taken in; nil: t has no valid ID.
func (c *Core) laneOf(t *tenant.Tenant) *lane {
	l := c.lanes[t.ID]
	if l == nil {
		return c.newLane(t)
	}
	if said := t.Assertion(); said.Tier != "" && said != l.asserted {
		if merged := l.asserted.Merge(said); merged != l.asserted {
			l.asserted = merged
			c.adopt(l)
			c.update(l)
			c.dispatch(nil)
		}
	}
	return l
}

// newLane returns a new lane for t, which is idle; nil: t has no valid ID.
func (c *Core) newLane(t *tenant.Tenant) *lane {
	if tenant.CheckID(t.ID) != nil {
		return nil
	}
	number := int32(len(c.lanes))
	if n := len(c.spare); n > 0 {
		number, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	c.births++
	l := &lane{number: number, id: t.ID, asserted: t.Assertion(), tag: math.Inf(-1), born: c.births, idleSince: c.now}
	c.adopt(l)
	c.lanes[t.ID] = l
	c.peak = max(c.peak, len(c.lanes))
	c.park(l)
	return l
}

// adopt gives the lane the tier that applies to it now. An update of the lane has to follow.
func (c *Core) adopt(l *lane) {
	t := c.tiers.For(tenant.Tenant{ID: l.id, Tier: l.asserted.Tier})
	if l.active {
		c.activeShares += t.Share - l.share
	}
	l.tier, l.share, l.ceiling, l.allowed = t.Name, t.Share, t.Ceiling, t.Streams
	l.perShare = 1 / float64(l.share)
	c.bound(l)
}

// bound sets the lane's limit, and with it what its waiters will get.
func (c *Core) bound(l *lane) {
	limit := c.limitOf(l)
	if limit == l.limit {
		return
	}
	l.limit, l.wanted = limit, 0
	for e := l.queue.head; e != nil; e = e.next {
		l.wanted += l.need(e.elem)
	}
}

// begin makes the lane active before a request of it enters. An idle tenant has lived down a part of its past.
func (c *Core) begin(l *lane) {
	if !l.active {
		left := max(1-float64(c.now-l.idleSince)*(1.0/ForgetAfter), 0)
		l.tag = min(l.tag, c.virtual+ahead*left)
		c.unpark(l)
		l.active = true
		c.activeShares += l.share
	}
	if l.queue.len == 0 {
		c.floor(l)
	}
}

// rest makes the lane idle if it neither holds nor waits any more.
func (c *Core) rest(l *lane) {
	if !l.active || l.inUse > 0 || l.queue.len > 0 {
		return
	}
	l.active = false
	c.activeShares -= l.share
	c.park(l)
}

// park puts a lane that has ceased to hold, to wait or to stream among those to be forgotten, unless it still does
// another of these.
func (c *Core) park(l *lane) {
	if !l.active && l.streams == 0 {
		l.parked = c.now
		c.idle.push(l, &l.idle)
	}
}

// unpark undoes that, before the lane does any of these.
func (c *Core) unpark(l *lane) {
	if !l.active && l.streams == 0 {
		c.idle.remove(&l.idle)
	}
}

// floor takes from a lane what credit it has beyond what the rule gives. Some lane must be active.
func (c *Core) floor(l *lane) {
	if l.tag < c.virtual {
		l.tag = max(l.tag, c.leastTag())
	}
}

// leastTag is the tag of a tenant that has all the credit it may have.
func (c *Core) leastTag() float64 {
	return max(c.virtual-fullCredit*min(1, float64(c.capacity)/float64(c.activeShares)), 0)
}

// forget drops at most n of the lanes that have been idle for long enough.
func (c *Core) forget(n int) {
	for l := c.idle.first(); l != nil && n > 0 && l.parked+ForgetAfter <= c.now; l = c.idle.first() {
		c.idle.remove(&l.idle)
		delete(c.lanes, l.id)
		c.spare = append(c.spare, l.number)
		n--
	}
	if c.peak > 1024 && len(c.lanes) < c.peak/16 {
		c.shrink()
	}
}

// shrink lets go of what has the size of the most lanes that there were.
func (c *Core) shrink() {
	c.lanes = maps.Collect(maps.All(c.lanes))
	c.peak, c.spare = len(c.lanes), nil
	for i := range c.heaps {
		c.heaps[i].clear()
	}
	number := int32(0)
	for _, l := range c.lanes {
		l.number = number
		number++
		c.update(l)
	}
}

// update follows a change of the lane's use, queue or tier.
func (c *Core) update(l *lane) {
	if l.queue.len > 0 {
		c.place(l)
	}
}

// place puts a lane in which somebody waits where it belongs. That is also when its credit is bounded: the virtual clock
// may have moved on while the lane waited at its share, which is not for the others' sake.
func (c *Core) place(l *lane) {
	for c.rule == Hard && c.pass(l) {
	}
	c.floor(l)
	if l.mayRun() {
		c.heaps[ready].set(c.order(l))
	} else {
		c.heaps[ready].remove(l)
	}
	if c.full {
		c.heaps[longest].set(crowding(l))
	}
}

// rebuild is update for all lanes at once, where the order between them changed.
func (c *Core) rebuild() {
	for _, l := range c.lanes {
		c.bound(l)
	}
	if c.rule == Hard {
		for e := c.queue.head; e != nil; e = e.next {
			if e.elem.pass == 0 {
				c.pass(e.elem.lane)
			}
		}
	}
	for i := range c.heaps {
		c.heaps[i].clear()
	}
	for _, l := range c.lanes {
		c.update(l)
	}
}

// pass lets the lane's next waiter through to the queue for the capacity, and reports whether there was one and room
// in the lane.
func (c *Core) pass(l *lane) bool {
	if l.unpassed == nil {
		return false
	}
	r := l.unpassed.elem
	n := l.need(r)
	if l.inUse+l.passed+n > l.limit {
		return false
	}
	c.passes++
	r.pass, r.passing = c.passes, n
	l.passed += n
	l.unpassed = l.unpassed.next
	return true
}

// enqueue puts r into the queue of its lane.
func (c *Core) enqueue(l *lane, r *Request) {
	r.State, r.lane, r.arrived = Waiting, l, c.now
	if l.queue.len == 0 {
		l.first = r.width()
	}
	l.queue.push(r, &r.inLane)
	l.wanted += l.need(r)
	c.queue.push(r, &r.inQueue)
	if l.unpassed == nil && c.rule == Hard {
		l.unpassed = &r.inLane
	}
	if c.rule == Hard || l.queue.len == 1 {
		c.place(l)
	} else if c.full { // all that changed is the length of the queue
		c.heaps[longest].set(crowding(l))
	}
}

// unqueue takes r out of the queue. An update of the lane has to follow.
func (c *Core) unqueue(r *Request) {
	l := r.lane
	l.idleSince = c.now
	if c.rule == Hard {
		if l.unpassed == &r.inLane {
			l.unpassed = r.inLane.next
		}
		l.passed -= r.passing
		r.pass, r.passing = 0, 0
	}
	l.queue.remove(&r.inLane)
	l.wanted -= l.need(r)
	c.queue.remove(&r.inQueue)
	if first := l.queue.first(); first != nil {
		l.first = first.width()
	} else {
		c.heaps[ready].remove(l)
		c.heaps[longest].remove(l)
	}
	if c.full && c.queue.len < c.maxWaiting/2 {
		c.full = false
		c.heaps[longest].clear()
	}
}
