package replay

import (
	"slices"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

// pool hands out slots as a policy does.
type pool interface {
	// enter decides about j: it is Granted, Waiting or Refused.
	enter(now int64, j *job)
	leave(now int64, j *job)
	// tick does what is due at next.
	tick(now int64)
	next() int64
	// decided calls f for each job that was granted or refused by another call than its own enter.
	decided(f func(*job))
}

// corePool is a pool of the product.
type corePool struct {
	core    *slots.Core
	waiting map[*slots.Request]*job
	one     bool // all are one tenant
}

func (p *corePool) enter(now int64, j *job) {
	t := tenant.Tenant{ID: j.of.name, Tier: j.in.name}
	if p.one {
		t = tenant.Tenant{ID: everybody}
	}
	p.core.Enter(now, &j.Request, t)
	if j.State == slots.Waiting {
		p.waiting[&j.Request] = j
	}
	p.anonymize(j)
}

// anonymize gives a refusal of one queue for all the only reason that there is without tenants.
func (p *corePool) anonymize(j *job) {
	if p.one && j.State == slots.Refused {
		j.Reason = tenant.ReasonCapacity
	}
}

func (p *corePool) leave(now int64, j *job) { p.core.Leave(now, &j.Request) }
func (p *corePool) tick(now int64)          { p.core.Tick(now) }
func (p *corePool) next() int64             { return p.core.Next() }

func (p *corePool) decided(f func(*job)) {
	p.core.Decided(func(r *slots.Request) {
		j := p.waiting[r]
		delete(p.waiting, r)
		p.anonymize(j)
		f(j)
	})
}

// published is the published rule, within the bounds that the others have. Whoever is first of those that may run gets a
// free slot.
type published struct {
	capacity, maxQueue, maxWaiting int
	maxWait                        int64
	tiers                          *tenant.Tiers

	inUse, waiting int // the sums over uses
	uses           map[string]*use
	queue          []*job // in order of arrival
	told           []*job
}

// use is what a tenant holds and waits for.
type use struct{ inUse, waiting, share int }

// may reports whether the rule lets a request of u, which waits, have a slot now.
func (p *published) may(u *use) bool {
	return p.inUse < p.capacity && (u.inUse < u.share || p.waiting == u.waiting)
}

func (p *published) enter(now int64, j *job) {
	u := p.uses[j.of.name]
	if u == nil {
		u = &use{}
		p.uses[j.of.name] = u
	}
	u.share = p.tiers.Named(j.in.name).Share
	u.waiting++
	p.waiting++
	j.use = u
	switch {
	case p.may(u):
		p.grant(j)
	case u.waiting > p.maxQueue:
		p.refuse(j, tenant.ReasonShare)
	case p.waiting > p.maxWaiting:
		p.refuse(j, tenant.ReasonCapacity)
	default:
		j.State = slots.Waiting
		p.queue = append(p.queue, j)
	}
}

func (p *published) grant(j *job) {
	j.use.waiting--
	p.waiting--
	j.use.inUse++
	p.inUse++
	j.State = slots.Granted
}

func (p *published) refuse(j *job, reason tenant.Reason) {
	j.use.waiting--
	p.waiting--
	j.State, j.Reason = slots.Refused, reason
	p.forget(j)
}

func (p *published) forget(j *job) {
	if j.use.inUse == 0 && j.use.waiting == 0 {
		delete(p.uses, j.of.name)
	}
}

func (p *published) leave(now int64, j *job) {
	j.use.inUse--
	p.inUse--
	p.forget(j)
	p.dispatch()
}

// dispatch grants while anybody may run. A grant may let others run, for there is one less that waits.
func (p *published) dispatch() {
	for p.inUse < p.capacity {
		i := slices.IndexFunc(p.queue, func(j *job) bool { return p.may(j.use) })
		if i < 0 {
			return
		}
		j := p.queue[i]
		p.queue = slices.Delete(p.queue, i, i+1)
		p.grant(j)
		p.told = append(p.told, j)
	}
}

func (p *published) tick(now int64) {
	for len(p.queue) > 0 && p.next() <= now {
		j := p.queue[0]
		p.queue = p.queue[1:]
		reason := tenant.ReasonShare
		if j.use.inUse < j.use.share {
			reason = tenant.ReasonCapacity
		}
		p.refuse(j, reason)
		p.told = append(p.told, j)
	}
	p.dispatch()
}

func (p *published) next() int64 {
	if len(p.queue) == 0 || p.maxWait == 0 {
		return slots.Never
	}
	return p.queue[0].came + p.maxWait
}

func (p *published) decided(f func(*job)) {
	for _, j := range p.told {
		f(j)
	}
	clear(p.told)
	p.told = p.told[:0]
}
