package replay

import (
	"container/heap"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

// published is the published rule, within the bounds that the others have: a tenant may have a free slot while it is
// below its share, or if no other tenant waits. Of those that may, whoever came first gets it.
type published struct {
	capacity, maxQueue, maxWaiting int
	maxWait                        int64
	tiers                          *tenant.Tiers

	inUse, waiting int // the sums over uses
	arrivals       uint64
	uses           map[string]*use
	waiters        map[*use]bool // those with a queue
	below          uses          // of these, those below their shares, in the order of their first waiters
	queue          []place       // all waiters, in order of arrival, and some that wait no longer
	told           []*job
}

// use is what a tenant holds and waits for.
type use struct {
	inUse, share int
	queue        []*job
	first        uint64 // when the first of these, or who was it last, came
	at           int    // 1 more than the index in below; 0: not there
}

// place is a waiter, as long as it is the same.
type place struct {
	job *job
	nth uint64
}

// uses is a heap, for container/heap.
type uses []*use

func (q uses) Len() int           { return len(q) }
func (q uses) Less(i, j int) bool { return q[i].first < q[j].first }

func (q uses) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i+1, j+1
}

func (q *uses) Push(x any) {
	*q = append(*q, x.(*use))
	(*q)[len(*q)-1].at = len(*q)
}

func (q *uses) Pop() any {
	end := len(*q) - 1
	u := (*q)[end]
	*q = (*q)[:end]
	u.at = 0
	return u
}

func (p *published) enter(now int64, j *job) {
	u := p.uses[j.of.name]
	if u == nil {
		u = &use{}
		p.uses[j.of.name] = u
	}
	u.share = p.tiers.Named(j.in.name).Share
	j.use = u
	others := len(p.waiters)
	if p.waiters[u] {
		others--
	}
	switch {
	case p.inUse < p.capacity && (u.inUse < u.share || others == 0):
		p.grant(j)
	case len(u.queue) >= p.maxQueue:
		p.refuse(j, tenant.ReasonShare)
	case p.waiting >= p.maxWaiting:
		p.refuse(j, tenant.ReasonCapacity)
	default:
		p.arrivals++
		j.State, j.nth = slots.Waiting, p.arrivals
		u.queue = append(u.queue, j)
		if p.maxWait > 0 {
			p.queue = append(p.queue, place{j, j.nth})
		}
		p.waiting++
	}
	p.update(u)
}

func (p *published) grant(j *job) {
	j.use.inUse++
	p.inUse++
	j.State = slots.Granted
}

func (p *published) refuse(j *job, reason tenant.Reason) { j.State, j.Reason = slots.Refused, reason }

// update follows every change of a tenant.
func (p *published) update(u *use) {
	if len(u.queue) > 0 {
		p.waiters[u], u.first = true, u.queue[0].nth
	} else {
		delete(p.waiters, u)
	}
	switch member := len(u.queue) > 0 && u.inUse < u.share; {
	case member && u.at == 0:
		heap.Push(&p.below, u)
	case member:
		heap.Fix(&p.below, u.at-1)
	case u.at > 0:
		heap.Remove(&p.below, u.at-1)
	}
}

func (p *published) leave(_ int64, j *job) {
	j.use.inUse--
	p.inUse--
	p.settle(j.use, j)
	p.dispatch()
}

// settle is update after a request of u left, which may have been all there was.
func (p *published) settle(u *use, j *job) {
	p.update(u)
	if u.inUse == 0 && len(u.queue) == 0 {
		delete(p.uses, j.of.name)
	}
}

// dispatch grants while anybody may run. A grant may let others run, for there is one less that waits.
func (p *published) dispatch() {
	for p.inUse < p.capacity {
		u := p.turn()
		if u == nil {
			return
		}
		j := p.shift(u)
		p.grant(j)
		p.update(u)
		p.told = append(p.told, j)
	}
}

// turn is the tenant of whoever goes next, nil where nobody may.
func (p *published) turn() *use {
	if len(p.below) > 0 {
		return p.below[0]
	}
	if len(p.waiters) == 1 {
		for u := range p.waiters {
			return u
		}
	}
	return nil
}

// shift takes the first waiter out of the queue of u. An update of u has to follow.
func (p *published) shift(u *use) *job {
	j := u.queue[0]
	u.queue = u.queue[1:]
	p.waiting--
	return j
}

func (p *published) tick(now int64) {
	for p.next() <= now {
		u := p.queue[0].job.use
		j := p.shift(u) // whoever waits longest of all does so of its tenant
		reason := tenant.ReasonShare
		if u.inUse < u.share {
			reason = tenant.ReasonCapacity
		}
		p.refuse(j, reason)
		p.told = append(p.told, j)
		p.settle(u, j)
	}
	p.dispatch()
}

// next is when whoever waits longest has waited for too long.
func (p *published) next() int64 {
	for len(p.queue) > 0 {
		if first := p.queue[0]; first.job.State == slots.Waiting && first.job.nth == first.nth {
			return first.job.came + p.maxWait
		}
		p.queue = p.queue[1:]
	}
	return slots.Never
}

func (p *published) decided(f func(*job)) {
	for _, j := range p.told {
		f(j)
	}
	clear(p.told)
	p.told = p.told[:0]
}
