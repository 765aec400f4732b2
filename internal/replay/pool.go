package replay

import (
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
