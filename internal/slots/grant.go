package slots

import (
	"math"

	"github.com/tenantgate/tenantgate/tenant"
)

// dispatch grants free slots while anybody who may run waits.
func (c *Core) dispatch() {
	for c.inUse < c.capacity {
		l := c.ready.first()
		if l == nil {
			return
		}
		r := l.queue.head
		c.unqueue(r)
		c.grantTo(l, r)
		c.update(l)
		c.decided = append(c.decided, r)
	}
}

// grantTo gives r, which is in no queue, a free slot, and charges its tenant for as long as it is expected to hold it.
func (c *Core) grantTo(l *lane, r *Request) {
	expected := l.hold
	if expected < 0 {
		expected = max(c.hold, 0)
	}
	charged := expected / float64(l.share)
	c.virtual = max(c.virtual, l.tag)
	l.tag += charged
	c.grants++
	l.grant = c.grants
	l.inUse++
	c.inUse++
	r.State, r.lane, r.granted, r.charged = Granted, l, c.now, charged
}

// settle charges the lane for what r really held. Where that is less than was expected, the lane gets no more credit by
// it than idleness gives.
func (c *Core) settle(l *lane, r *Request) {
	held := float64(c.now-r.granted) / second
	settled := l.tag + (held/float64(l.share) - r.charged)
	l.tag = min(max(settled, min(l.tag, c.leastTag())), c.virtual+aheadSeconds)
	average(&l.hold, held, tenantWeight)
	average(&c.hold, held, poolWeight)
}

func average(mean *float64, value, weight float64) {
	if *mean < 0 {
		*mean = value
	} else {
		*mean += weight * (value - *mean)
	}
}

// makeRoom makes the total queue hold one more waiter of lane l, by pushing out another where that is just, or says
// why l's must not wait.
func (c *Core) makeRoom(l *lane) tenant.Reason {
	if c.maxQueue == 0 || c.maxWaiting == 0 {
		return c.overdue(l)
	}
	if l.queue.len >= c.maxQueue {
		return tenant.ReasonShare
	}
	if c.queue.len < c.maxWaiting {
		return tenant.ReasonNone
	}
	longest := c.longest.first()
	if int64(l.queue.len+1)*int64(longest.share) >= int64(longest.queue.len)*int64(l.share) {
		return c.overdue(l) // with this waiter, l's own queue would be the longest for its share
	}
	c.expel(longest.queue.tail, c.overdue(longest))
	return tenant.ReasonNone
}

// overdue is the reason to refuse a request of lane l that has to wait for longer than it may: its own use, or that of
// the others.
func (c *Core) overdue(l *lane) tenant.Reason {
	if c.below(l) {
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
	r.State, r.Reason, r.Tier, r.RetryAfter, r.lane = Refused, reason, l.tier, c.backlog(l), nil
}

// backlog estimates how long the lane's queue takes to be served, in nanoseconds: its waiters and one more, each for
// the tenant's average holding time, on the slots that the tenant is sure of or on those it holds, whichever are more.
func (c *Core) backlog(l *lane) int64 {
	hold := l.hold
	if hold < 0 {
		hold = max(c.hold, 0)
	}
	sure := float64(l.share) * min(1, float64(c.capacity)/float64(max(c.activeShares, l.share)))
	seconds := float64(l.queue.len+1) * hold / max(sure, float64(l.inUse))
	return int64(min(seconds*second, math.MaxInt64/2))
}
