package slots

import (
	"slices"

	"github.com/tenantgate/tenantgate/tenant"
)

// replay repeats what the step decided on the books, and judges each decision in the state in which it was made.
func (o *observer) replay(s step) error {
	for _, c := range o.waiting {
		if c.r.State != Waiting && c.r != s.r && !slices.Contains(s.decided, c.r) {
			return violated(7, "a waiter of %s was not told that it is in state %d", c.of.id, c.r.State)
		}
	}
	if comes(s.op) {
		return o.arrive(s)
	}
	if c := o.claims[s.r]; c != nil {
		if want := map[operation]State{leave: Done, expire: Refused}[s.op]; s.r.State != want {
			return violated(7, "a request of %s that ended is in state %d, want %d", c.of.id, s.r.State, want)
		}
		o.end(c)
	}
	o.pass()
	if err := o.decisions(s.decided); err != nil {
		return err
	}
	if len(o.waiting) == 0 {
		return nil
	}
	longest := o.waiting[0]
	if s.op == tick && o.cfg.MaxWait > 0 && longest.arrived+o.cfg.MaxWait <= o.now || s.op == shut {
		return violated(7, "a request of %s, here since %d, still waits", longest.of.id, longest.arrived)
	}
	return nil
}

// arrive repeats the arrival of a request. What is decided about others before it is in, is because it brought its tenant
// another tier; it may also push out a waiter, and what follows is because that one waits no longer.
func (o *observer) arrive(s step) error {
	if o.closing {
		if s.op != try && s.r.Reason != tenant.ReasonClosing {
			return violated(7, "a closing pool answers with state %d (%q)", s.r.State, s.r.Reason)
		}
		return nil
	}
	o.pass()
	rest := s.decided
	isRefused := func(r *Request) bool { return r.State == Refused }
	if i := slices.IndexFunc(rest, isRefused); i >= 0 {
		rest = rest[:i]
	}
	before := len(rest)
	if err := o.decisions(rest); err != nil {
		return err
	}
	c := &claim{r: s.r, of: o.parties[s.who.ID], arrived: o.now}
	switch pushed := s.decided[before:]; {
	case s.op == stream || s.op == late:
		if s.r.State == Streaming {
			c.state = Streaming
			c.of.streams++
			o.claims[c.r] = c
		}
		return nil
	case s.r.State != Granted && s.r.State != Waiting:
		return o.mayBeTurnedAway(c, len(pushed))
	case s.r.State == Granted && len(pushed) == 0:
		return o.takes(c)
	default:
		refused := slices.DeleteFunc(slices.Clone(pushed), func(r *Request) bool { return !isRefused(r) })
		if err := o.decisions(refused); err != nil {
			return err
		}
		if err := o.begins(c.of); err != nil {
			return err
		}
		o.enqueue(c)
		return o.decisions(o.granted[before:])
	}
}

// takes judges a request that was granted slots when it came.
func (o *observer) takes(c *claim) error {
	p := c.of
	if len(p.queue) > 0 {
		return violated(3, "a request of %s takes a slot while %d others of it wait", p.id, len(p.queue))
	}
	if err := o.begins(p); err != nil {
		return err
	}
	o.enqueue(c)
	return o.grant(c)
}

// begins judges the tag of a tenant none of whose requests waits, as the next one comes.
func (o *observer) begins(p *party) error {
	if len(p.queue) > 0 {
		return nil
	}
	if tag := p.tags[0].most; tag < o.virtual-fullCredit-rounding {
		property := 5
		if p.fresh {
			property = 8
		}
		return violated(property, "%s begins %.0f ns behind the virtual clock", p.id, o.virtual-tag)
	}
	left := max(1-float64(o.now-p.idle)/ForgetAfter, 0)
	if tag := p.tags[0].least; p.holds == 0 && tag > o.core.virtual+ahead*left+rounding {
		return violated(5, "%s, idle for %d ns, is still %.0f ns ahead", p.id, o.now-p.idle, tag-o.core.virtual)
	}
	return nil
}

// mayBeTurnedAway judges a request that was refused, or told that there is no slot, when it came.
func (o *observer) mayBeTurnedAway(c *claim, pushed int) error {
	p := c.of
	if pushed > 0 {
		return violated(7, "%d waiters are pushed out for a request that does not wait", pushed)
	}
	o.enqueue(c)
	free := o.capacity - o.inUse
	if o.head() == p && p.queue[0] == c && p.need(c) <= free {
		return violated(1, "a request of %s for %d slots is turned away with %d free", p.id, p.need(c), free)
	}
	o.unqueue(c)
	delete(o.claims, c.r)
	o.rest(p)
	return nil
}

// end takes a request that left out of the books.
func (o *observer) end(c *claim) {
	p := c.of
	switch c.state {
	case Waiting:
		o.unqueue(c)
	case Streaming:
		p.streams--
	default:
		p.holds -= c.slots
		o.inUse -= c.slots
		p.moved = true
	}
	delete(o.claims, c.r)
	o.rest(p)
}

// decisions repeats decisions about waiters.
func (o *observer) decisions(decided []*Request) error {
	for _, r := range decided {
		c := o.claims[r]
		if c == nil || c.state != Waiting {
			return violated(7, "a request is told what was decided, but does not wait")
		}
		switch r.State {
		case Granted:
			if err := o.grant(c); err != nil {
				return err
			}
		case Refused:
			o.unqueue(c)
			delete(o.claims, r)
			o.rest(c.of)
			o.pass()
		default:
			return violated(7, "a waiter of %s is told, but is in state %d", c.of.id, r.State)
		}
	}
	return nil
}

// grant judges a grant to a waiter, and repeats it.
func (o *observer) grant(c *claim) error {
	p, n := c.of, c.of.need(c)
	switch {
	case p.queue[0] != c:
		return violated(3, "a request of %s is granted slots before an older one", p.id)
	case c.r.slots != n || p.holds+n > p.limit || o.inUse+n > o.capacity:
		return violated(4, "%s gets %d slots, want %d, and holds %d of %d, all %d of %d",
			p.id, c.r.slots, n, p.holds, p.limit, o.inUse, o.capacity)
	}
	for _, other := range o.parties {
		if other != p && other.mayRun() {
			if property := o.before(other, p); property > 0 {
				return violated(property, "%v is granted slots before %v", p, other)
			}
		}
	}
	o.grants++
	p.granted, p.charged = o.grants, c.r.charged
	p.tags = p.tags[1:]
	p.moved = true
	o.unqueue(c)
	c.state, c.slots = Granted, n
	p.holds += n
	o.inUse += n
	o.pass()
	return nil
}
