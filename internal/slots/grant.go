package slots

import (
	"math"

	"github.com/tenantgate/tenantgate/tenant"
)

// mayTake reports whether r, which enters, takes free slots at once: nobody of its lane waits, nor anybody of another
// lane who would go before it. That somebody waits while slots are free is for a wide request: they are kept until there
// are as many as it needs.
func (c *Core) mayTake(l *lane, r *Request) bool {
	n := l.need(r)
	if n > c.capacity-c.inUse || l.queue.len > 0 || l.inUse+n > l.limit {
		return false
	}
	waiting := c.heaps[ready].entries
	if len(waiting) == 0 || c.rule == Hard {
		return len(waiting) == 0
	}
	e := c.orderOf(l, n)
	return e.before(&waiting[0])
}

// dispatch grants free slots while whoever is first of those that may run waits for no more than there are. Each is to
// be told, but for own, whose call this is.
func (c *Core) dispatch(own *Request) {
	for c.inUse < c.capacity {
		l := c.heaps[ready].first()
		if l == nil {
			return
		}
		if l.firstNeed() > c.capacity-c.inUse {
			return
		}
		r := l.queue.first()
		c.unqueue(r)
		c.grantTo(l, r)
		c.update(l)
		if r != own {
			c.decided = append(c.decided, r)
		}
	}
}

// grantTo gives r, which is in no queue, free slots, and charges its tenant for as long as it is expected to hold them.
func (c *Core) grantTo(l *lane, r *Request) {
	n := l.need(r)
	charged := c.expected(l) * float64(n) * l.perShare
	if l.tag > c.virtual {
		c.virtual = l.tag
	} else {
		c.creep(l, charged)
	}
	l.tag += charged
	c.grants++
	l.grant = c.grants
	l.inUse += n
	c.inUse += n
	r.State, r.lane, r.granted, r.slots, r.charged = Granted, l, c.now, n, charged
}

// creep moves the virtual clock on at a grant to l behind it, at a quarter of the pace at which the tags of all active
// tenants grow together. Where grants go to ever new tenants, each with its credit, nothing else would, and who waits at
// the clock would wait until no new ones come. The tags are faster, so that where tenants come again they lead the clock
// as before. It goes no further than the credit from l's tag, which none of those below their shares is behind.
func (c *Core) creep(l *lane, charged float64) {
	pace := charged * float64(l.share) / float64(c.activeShares)
	c.virtual = max(c.virtual, min(c.virtual+pace/4, l.tag+fullCredit))
}

// expected is how long a request of l will probably hold its slots, in nanoseconds.
func (c *Core) expected(l *lane) float64 {
	return c.holds(l).mean
}

// holds are the holding times by which the core judges l.
func (c *Core) holds(l *lane) *Average {
	if !l.hold.known {
		return &c.hold
	}
	return &l.hold
}

// settle charges the lane for what r really held. Where that is less than was expected, the lane gets no more credit by
// it than idleness gives.
func (c *Core) settle(l *lane, r *Request) {
	held := float64(c.now - r.granted)
	l.idleSince = c.now
	c.floor(l)
	l.tag = min(l.tag+(held*float64(r.slots)*l.perShare-r.charged), c.virtual+ahead)
	c.floor(l)
	l.hold.Add(held, TenantWeight)
	c.hold.Add(held, PoolWeight)
}

// makeRoom makes the total queue hold one more waiter of lane l, by pushing out another where that is just, or says
// why r, of that lane, must not wait.
func (c *Core) makeRoom(l *lane, r *Request) tenant.Reason {
	if c.maxQueue == 0 || c.maxWaiting == 0 {
		return c.overdue(l, r)
	}
	if l.queue.len >= c.maxQueue {
		return tenant.ReasonShare
	}
	if c.tooLong(l, r) {
		return c.overdue(l, r)
	}
	if c.queue.len < c.maxWaiting {
		return tenant.ReasonNone
	}
	c.sortLongest()
	other := c.heaps[longest].first()
	if int64(l.queue.len+1)*int64(other.share) >= int64(other.queue.len)*int64(l.share) {
		return c.overdue(l, r) // with this waiter, l's own queue would be the longest for its share
	}
	last := other.queue.tail.elem
	c.expel(last, c.overdue(other, last))
	return tenant.ReasonNone
}

// sortLongest puts the queues in order of their lengths.
func (c *Core) sortLongest() {
	if c.full {
		return
	}
	c.full = true
	for e := c.queue.head; e != nil; e = e.next {
		if l := e.elem.lane; !c.heaps[longest].has(l) {
			c.heaps[longest].set(crowding(l))
		}
	}
}

// tooLong reports whether r, which would be the last of l's waiters, will probably wait for longer than it may. It is no
// reason to refuse that the tenant may have to wait for others, only that it does for itself: the waiters before r have
// to be served, each for as long as most of the tenant's requests held at least, on all slots that it might get.
func (c *Core) tooLong(l *lane, r *Request) bool {
	outlasts := func(limit int64) bool { return c.holds(l).Outlasts(l.wanted, c.hoped(l), float64(limit)) }
	if r.Deadline != 0 && (c.maxWait == 0 || r.Deadline-c.now <= c.maxWait) {
		r.Late = outlasts(r.Deadline - c.now)
		return r.Late
	}
	return c.maxWait > 0 && outlasts(c.maxWait)
}

// hoped is how many slots the lane can get at most as things are: all that it may hold where no other lane waits that
// may run, else those that it holds or is due.
func (c *Core) hoped(l *lane) float64 {
	others := len(c.heaps[ready].entries)
	if c.heaps[ready].has(l) {
		others--
	}
	if others == 0 {
		return float64(l.limit)
	}
	return max(c.due(l), float64(l.inUse))
}

// due is how many slots the lane gets where all active tenants want as many as they can get.
func (c *Core) due(l *lane) float64 {
	part := float64(l.share) / float64(max(c.activeShares, l.share))
	return min(float64(c.capacity)*part, float64(l.limit))
}

// overdue is the reason to refuse r, of lane l, that has to wait for longer than it may: the tenant's own use, or that
// of the others.
func (c *Core) overdue(l *lane, r *Request) tenant.Reason {
	if c.below(l) && l.inUse+l.need(r) <= l.limit {
		return tenant.ReasonCapacity
	}
	return tenant.ReasonShare
}

// expel refuses a waiter, who is to be told.
func (c *Core) expel(r *Request, reason tenant.Reason) {
	l := r.lane
	c.unqueue(r)
	c.refuse(l, r, reason)
	c.update(l)
	c.rest(l)
	c.decided = append(c.decided, r)
}

// refuse ends a request of lane l that is in no queue.
func (c *Core) refuse(l *lane, r *Request, reason tenant.Reason) {
	r.State, r.Reason, r.Tier, r.RetryAfter, r.lane = Refused, reason, l.tier, c.backlog(l, r), nil
}

// backlog estimates how long the lane's queue takes to be served, in nanoseconds: its waiters and r, each for
// the tenant's average holding time, on the slots that are due to the tenant or on those it holds, whichever are more.
func (c *Core) backlog(l *lane, r *Request) int64 {
	return int64(min(float64(l.wanted+l.need(r))*c.expected(l)/max(c.due(l), float64(l.inUse)), math.MaxInt64/2))
}
