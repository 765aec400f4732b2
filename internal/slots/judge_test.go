package slots

import "math"

// before returns the property by which a, which may run, certainly goes before b; 0: it does not.
func (o *observer) before(a, b *party) int {
	if o.cfg.Rule == Hard {
		if a.queue[0].passed < b.queue[0].passed {
			return 3
		}
		return 0
	}
	property := 5
	if below := o.below(a); below != o.below(b) {
		if below {
			return 2
		}
		return 0
	} else if !below {
		property = 6
		if x, y := a.need(a.queue[0]), b.need(b.queue[0]); x != y {
			if x < y {
				return property
			}
			return 0
		}
		if x, y := a.excess(), b.excess(); x != y {
			if x < y {
				return property
			}
			return 0
		}
	}
	x, y := a.tags[0], b.tags[0]
	switch {
	case x.most < y.least-rounding:
		return property
	case x.least != x.most || y.least != y.most || x != y: // they may be the same, but for rounding
		return 0
	case a.granted < b.granted, a.granted == b.granted && a.born < b.born:
		return property
	}
	return 0
}

func (p *party) excess() float64 { return float64(p.holds) / float64(p.tier.Share) }

// head is the tenant whose turn is next, nil where nobody waits who may run. All tags must be known exactly.
func (o *observer) head() (head *party) {
	for _, p := range o.parties {
		if p.mayRun() && (head == nil || o.exactlyBefore(p, head)) {
			head = p
		}
	}
	return head
}

func (o *observer) exactlyBefore(a, b *party) bool {
	x, y := a.lane.tag, b.lane.tag
	switch {
	case o.cfg.Rule == Hard:
		return a.queue[0].passed < b.queue[0].passed
	case o.below(a) != o.below(b):
		return o.below(a)
	case !o.below(a) && a.need(a.queue[0]) != b.need(b.queue[0]):
		return a.need(a.queue[0]) < b.need(b.queue[0])
	case !o.below(a) && a.excess() != b.excess():
		return a.excess() < b.excess()
	case x != y:
		return x < y
	case a.granted != b.granted:
		return a.granted < b.granted
	}
	return a.born < b.born
}

// sumsAgree compares the books with what the core says that it holds.
func (o *observer) sumsAgree(step) error {
	waiting := 0
	for _, p := range o.parties {
		switch l := p.lane; {
		case l.inUse < p.holds:
			return violated(4, "%s holds %d slots, the core says %d", p.id, p.holds, l.inUse)
		case l.inUse > p.holds:
			return violated(7, "%s holds %d slots, the core says %d", p.id, p.holds, l.inUse)
		case l.queue.len != len(p.queue) || l.streams != p.streams:
			return violated(7, "%s has %d waiters and %d streams, the core says %d and %d",
				p.id, len(p.queue), p.streams, l.queue.len, l.streams)
		}
		waiting += len(p.queue)
	}
	if o.core.inUse != o.inUse || o.core.queue.len != waiting {
		return violated(4, "%d slots are in use, the core says %d; %d wait, it says %d",
			o.inUse, o.core.inUse, waiting, o.core.queue.len)
	}
	return nil
}

// nothingIdles checks that the free slots are too few for whoever is next.
func (o *observer) nothingIdles(step) error {
	head := o.head()
	if head == nil {
		return nil
	}
	if free, need := o.capacity-o.inUse, head.need(head.queue[0]); need <= free {
		return violated(1, "%d slots are free, and %s waits for %d", free, head.id, need)
	}
	return nil
}

// tagsAreBounded checks what the bound on waits rests on.
func (o *observer) tagsAreBounded(s step) error {
	if o.cfg.Rule == Hard {
		return nil
	}
	virtual, active := o.core.virtual, 0
	for _, p := range o.parties {
		if p.busy() {
			active += p.tier.Share
		}
	}
	if virtual < o.virtual {
		return violated(5, "the virtual clock goes back by %.0f ns", o.virtual-virtual)
	}
	if p := o.parties[s.who.ID]; p != nil {
		active += p.tier.Share // it may have been active in between
	}
	credit := fullCredit * min(1, float64(min(o.capacity, o.lastCapacity))/float64(max(active, o.lastActive)))
	for _, p := range o.parties {
		switch tag := p.lane.tag; {
		case tag > virtual+ahead+p.charged+rounding:
			return violated(5, "%s is %.0f ns ahead of the virtual clock", p.id, tag-virtual)
		case p.mayRun() && o.below(p) && tag < virtual-fullCredit-rounding:
			return violated(5, "%s, which waits, is %.0f ns behind the virtual clock", p.id, virtual-tag)
		case p.waited && len(p.queue) > 0 && !p.moved && tag != p.before && tag > math.Max(virtual-credit, p.before)+rounding:
			return violated(5, "%s is put back by %.0f ns while it waits", p.id, tag-p.before)
		}
	}
	return nil
}

// remembersWhomItMust checks who is forgotten.
func (o *observer) remembersWhomItMust(s step) error {
	for id, p := range o.parties {
		remembered := o.core.lanes[id] != nil
		idle := !p.busy() && p.streams == 0
		switch {
		case !remembered && (!idle || o.now-p.since < ForgetAfter):
			return violated(8, "%s is forgotten, with %d in use, %d streams, idle for %d ns", id, p.holds, p.streams, o.now-p.since)
		case remembered && s.op == tick && idle && o.now-p.touched >= ForgetAfter:
			return violated(8, "%s is remembered, idle for %d ns", id, o.now-p.touched)
		case !remembered:
			delete(o.parties, id)
		}
	}
	if len(o.core.lanes) != len(o.parties) {
		return violated(8, "%d tenants are remembered, want %d", len(o.core.lanes), len(o.parties))
	}
	return nil
}
