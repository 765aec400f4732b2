package slots

// Rule decides how many slots a tenant may hold, and who goes first.
type Rule uint8

const (
	// Fair is the work-conserving rule of package fairslots.
	Fair Rule = iota
	// Hard is the capped rule of package bulkhead.
	Hard
)

// limitOf is how many slots the lane may hold at most.
func (c *Core) limitOf(l *lane) int {
	switch {
	case c.rule == Hard:
		return min(l.share, c.capacity)
	case l.ceiling == 0:
		return c.capacity
	default:
		return min(l.ceiling, c.capacity)
	}
}

// need is how many slots r, of this lane, gets. A request that is wider than all that its tenant may hold gets that, or it
// would wait for ever.
func (l *lane) need(r *Request) int { return min(r.width(), l.limit) }

// firstNeed is need of the first waiter, who is left alone in memory.
func (l *lane) firstNeed() int { return min(l.first, l.limit) }

// below reports whether the lane holds less than its share.
func (c *Core) below(l *lane) bool { return l.inUse < min(l.share, c.capacity) }

// mayRun reports whether the lane's first waiter would be granted, were there slots enough.
func (l *lane) mayRun() bool {
	return l.queue.len > 0 && l.inUse+l.firstNeed() <= l.limit
}

// order is the lane's place among those that may run, as one in which somebody waits.
func (c *Core) order(l *lane) entry { return c.orderOf(l, l.firstNeed()) }

// orderOf is the place of a lane whose first request needs n slots. At or above their shares the narrower goes first, so
// that no slots are kept for who is not sure of them while another could use them.
func (c *Core) orderOf(l *lane, n int) entry {
	switch {
	case c.rule == Hard:
		return entry{major: float64(l.queue.first().pass), lane: l}
	case c.below(l):
		return entry{minor: l.tag, last: l.grant, lane: l}
	default:
		excess := float64(l.inUse) / float64(l.share) // at most MaxCapacity
		return entry{major: 2*MaxCapacity*float64(n-1) + excess, minor: l.tag, last: l.grant, lane: l}
	}
}

// crowding is the lane's place among those that may have to make room. Of equals the youngest comes first.
func crowding(l *lane) entry {
	return entry{major: -float64(l.queue.len) / float64(l.share), minor: -float64(l.born), lane: l}
}
