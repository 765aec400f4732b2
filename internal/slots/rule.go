package slots

// Rule decides how many slots a tenant may hold, and who goes first.
type Rule uint8

const (
	// Fair is the work-conserving rule of package fairslots.
	Fair Rule = iota
	// Hard is the capped rule of package bulkhead.
	Hard
)

// limit is how many slots the lane may hold at most.
func (c *Core) limit(l *lane) int {
	switch {
	case c.rule == Hard:
		return min(l.share, c.capacity)
	case l.ceiling == 0:
		return c.capacity
	default:
		return min(l.ceiling, c.capacity)
	}
}

// below reports whether the lane holds less than its share.
func (c *Core) below(l *lane) bool { return l.inUse < min(l.share, c.capacity) }

// before reports whether the head of a's queue goes before the head of b's.
func (c *Core) before(a, b *lane) bool {
	if c.rule == Hard {
		return a.queue.head.pass < b.queue.head.pass
	}
	belowA, belowB := c.below(a), c.below(b)
	if belowA != belowB {
		return belowA
	}
	if !belowA { // both at or above: a.inUse/a.share against b.inUse/b.share, without rounding
		if x, y := int64(a.inUse)*int64(b.share), int64(b.inUse)*int64(a.share); x != y {
			return x < y
		}
	}
	if a.tag != b.tag {
		return a.tag < b.tag
	}
	if a.grant != b.grant {
		return a.grant < b.grant
	}
	return a.born < b.born
}

// longer reports whether a's queue is longer for its share than b's.
func longer(a, b *lane) bool {
	if x, y := int64(a.queue.len)*int64(b.share), int64(b.queue.len)*int64(a.share); x != y {
		return x > y
	}
	return a.born > b.born
}
