package slots

import (
	"context"
	"errors"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Acquire takes a slot for t, and waits for it if need be. It returns a *[tenant.Refusal], the error of a cancelled
// context, or [tenant.ErrInvalidID].
func (p *Pool) Acquire(ctx context.Context, t tenant.Tenant) (release func(), err error) {
	if err := tenant.CheckID(t.ID); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, p.tooLate(t, err)
	}
	now := p.now()
	p.mu.Lock()
	r := p.requestLocked()
	p.core.Enter(now, r, t)
	p.finishLocked()
	switch r.State {
	case Granted:
		p.mu.Unlock()
		return p.releaser(r), nil
	case Refused:
		defer p.mu.Unlock()
		return nil, p.refusalLocked(r, nil)
	}
	p.mu.Unlock()
	return p.wait(ctx, r)
}

// wait waits until r is decided about or ctx ends, whichever is first.
func (p *Pool) wait(ctx context.Context, r *Request) (release func(), err error) {
	select {
	case <-r.decided:
		if r.State == Granted {
			return p.releaser(r), nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return nil, p.refusalLocked(r, nil)
	case <-ctx.Done():
		now := p.now()
		p.mu.Lock()
		defer p.mu.Unlock()
		return nil, p.abandonLocked(now, r, ctx.Err())
	}
}

// abandonLocked takes back a request whose context ended. If it was decided about in the meantime, which its waiter has
// not heard, a slot goes back; a refusal stands, unless the context was cancelled: then nobody wants to know.
func (p *Pool) abandonLocked(now int64, r *Request, ended error) error {
	select {
	case <-r.decided:
	default:
	}
	if !errors.Is(ended, context.DeadlineExceeded) {
		p.core.Leave(now, r)
		p.finishLocked()
		p.recycleLocked(r)
		return ended
	}
	if r.State == Refused { // not by the deadline
		return p.refusalLocked(r, nil)
	}
	p.core.Expire(now, r)
	p.finishLocked()
	return p.refusalLocked(r, ended)
}

// tooLate answers a request whose context had ended before it came.
func (p *Pool) tooLate(t tenant.Tenant, ended error) error {
	if !errors.Is(ended, context.DeadlineExceeded) {
		return ended
	}
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.requestLocked()
	p.core.Refuse(now, r, t)
	p.finishLocked()
	return p.refusalLocked(r, ended)
}

// TryAcquire takes a slot for t if one is free for it now.
func (p *Pool) TryAcquire(t tenant.Tenant) (release func(), ok bool) {
	if tenant.CheckID(t.ID) != nil {
		return nil, false
	}
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.requestLocked()
	granted := p.core.TryEnter(now, r, t)
	p.finishLocked()
	if !granted {
		p.recycleLocked(r)
		return nil, false
	}
	return p.releaser(r), true
}

// releaser returns the function that gives r's slot back when it is first called. It needs no lock: a request that
// holds a slot is its holder's alone.
func (p *Pool) releaser(r *Request) func() {
	use := r.uses
	return func() { p.release(r, use) }
}

func (p *Pool) release(r *Request, use uint64) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.uses != use {
		return
	}
	p.core.Leave(now, r)
	p.finishLocked()
	p.recycleLocked(r)
}

func (p *Pool) refusalLocked(r *Request, cause error) *tenant.Refusal {
	refusal := &tenant.Refusal{
		Reason: r.Reason, Tier: r.Tier, Policy: r.Tier, RetryAfter: time.Duration(r.RetryAfter), Cause: cause,
	}
	p.recycleLocked(r)
	return refusal
}

// requestLocked returns a request that is in nobody's use.
func (p *Pool) requestLocked() *Request {
	n := len(p.spare)
	if n == 0 {
		return &Request{decided: make(chan struct{}, 1)}
	}
	r := p.spare[n-1]
	p.spare[n-1] = nil
	p.spare = p.spare[:n-1]
	return r
}

// recycleLocked ends a use of r. Releases that were handed out for it are without effect from now on.
func (p *Pool) recycleLocked(r *Request) {
	r.uses++
	if len(p.spare) < maxSpare {
		p.spare = append(p.spare, r)
	}
}
