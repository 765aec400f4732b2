package flood

import (
	"context"
	"sync"

	"github.com/tenantgate/tenantgate/tenant"
)

// Published is the work-conserving rule as it was published: a tenant may take a free slot while it is below its share,
// or if no other tenant waits. It is one mutex and one condition variable; every release wakes every waiter, and whoever
// gets the lock first and may run takes the slot.
//
// It leaves slots idle while requests wait: once two tenants that are at their shares both wait, neither may go on, and
// nobody is woken when the one waiter that was in another tenant's way has got its slot.
type Published struct {
	capacity int
	tiers    *tenant.Tiers

	mu      sync.Mutex
	changed sync.Cond
	inUse   int // the sum over the tenants, as is waiting
	waiting int
	tenants map[string]*tenant.TenantSlots // that hold or wait
}

// NewPublished returns a pool of the given capacity, with the shares of tiers.
func NewPublished(capacity int, tiers *tenant.Tiers) *Published {
	p := &Published{capacity: capacity, tiers: tiers, tenants: map[string]*tenant.TenantSlots{}}
	p.changed.L = &p.mu
	return p
}

// Acquire waits for a slot until ctx ends.
func (p *Published) Acquire(ctx context.Context, t tenant.Tenant) (release func(), err error) {
	defer context.AfterFunc(ctx, p.wake)()
	p.mu.Lock()
	defer p.mu.Unlock()
	use := p.enterLocked(t)
	for p.inUse == p.capacity || use.InUse >= use.Share && p.waiting > use.Waiting {
		if ctx.Err() != nil {
			p.leaveLocked(use)
			p.changed.Broadcast() // it may have been in another tenant's way
			return nil, refusal(ctx.Err())
		}
		p.changed.Wait()
	}
	p.inUse++
	use.InUse++
	p.leaveLocked(use)
	return sync.OnceFunc(func() { p.release(use) }), nil
}

func (p *Published) release(use *tenant.TenantSlots) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inUse--
	use.InUse--
	p.forgetLocked(use)
	p.changed.Broadcast()
}

func (p *Published) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.Broadcast()
}

// enterLocked makes t wait.
func (p *Published) enterLocked(t tenant.Tenant) *tenant.TenantSlots {
	use, ok := p.tenants[t.ID]
	if !ok {
		use = &tenant.TenantSlots{ID: t.ID}
		p.tenants[t.ID] = use
	}
	tier := p.tiers.For(t)
	use.Tier, use.Share = tier.Name, tier.Share
	p.waiting++
	use.Waiting++
	return use
}

// leaveLocked ends a wait.
func (p *Published) leaveLocked(use *tenant.TenantSlots) {
	p.waiting--
	use.Waiting--
	p.forgetLocked(use)
}

func (p *Published) forgetLocked(use *tenant.TenantSlots) {
	if use.InUse == 0 && use.Waiting == 0 {
		delete(p.tenants, use.ID)
	}
}

// Stats returns what is held and waits, at one instant.
func (p *Published) Stats() tenant.SlotStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := tenant.SlotStats{Capacity: p.capacity, InUse: p.inUse, Waiting: p.waiting}
	for _, use := range p.tenants {
		s.Tenants = append(s.Tenants, *use)
	}
	return s
}
