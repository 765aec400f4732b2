package slots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Acquire takes n slots at once for t, and waits for them if need be; as many as t may ever hold where that is fewer. It
// returns a *[tenant.Refusal], the error of a cancelled context, [tenant.ErrInvalidID], or an error that says that n is
// not 1 or more.
func (p *Pool) Acquire(ctx context.Context, t *tenant.Tenant, n int) (release func(), err error) {
	if n < 1 {
		return nil, fmt.Errorf("%s: AcquireN of %d slots, want 1 or more", p.pkg, n)
	}
	if err := ctx.Err(); err != nil {
		return nil, p.tooLate(*t, n, err)
	}
	now := p.now()
	deadline := deadlineOf(ctx, now)
	p.lock()
	r := p.requestLocked()
	r.Width, r.Deadline = n, deadline
	p.core.enter(now, r, t)
	switch r.State {
	case Granted:
		p.unlock()
		return r.releaser(), nil
	case Waiting:
		p.unlock()
		return p.wait(ctx, r)
	default:
		return nil, p.refuse(r)
	}
}

// deadlineOf is ctx's deadline, in the core's time; 0: it has none. It is measured from now: one that was made without a
// monotonic reading would else be off by all that the wall clock was set since the pool was made.
func deadlineOf(ctx context.Context, now int64) int64 {
	at, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(now+min(int64(time.Until(at)), Never-now), 1)
}

// wait waits until r is decided about or ctx ends, whichever is first.
func (p *Pool) wait(ctx context.Context, r *Request) (release func(), err error) {
	select {
	case <-r.decided:
		if r.State == Granted {
			return r.releaser(), nil
		}
		p.lock()
		return nil, p.refuse(r)
	case <-ctx.Done():
		return nil, p.abandon(r, ctx.Err())
	}
}

// abandon takes back a request whose context ended. If it was decided about in the meantime, which its waiter has not
// heard, slots go back; a refusal stands, unless the context was cancelled: then nobody wants to know.
func (p *Pool) abandon(r *Request, ended error) error {
	now := p.now()
	p.lock()
	if r.State != Waiting {
		p.mu.Unlock()
		<-r.decided // whoever decided is about to say so, and nobody else does anything to r
		p.lock()
	}
	if !errors.Is(ended, context.DeadlineExceeded) {
		p.core.Leave(now, r)
		p.recycleLocked(r)
		p.unlock()
		return ended
	}
	p.core.Expire(now, r) // does nothing to a request that was refused
	return p.refuse(r)
}

// tooLate answers a request whose context had ended before it came.
func (p *Pool) tooLate(t tenant.Tenant, n int, ended error) error {
	if !errors.Is(ended, context.DeadlineExceeded) {
		return ended
	}
	now := p.now()
	p.lock()
	r := p.requestLocked()
	r.Width = n
	p.core.Refuse(now, r, t)
	return p.refuse(r)
}

// TryAcquire takes a slot for t if one is free for it now.
func (p *Pool) TryAcquire(t tenant.Tenant) (release func(), ok bool) {
	now := p.now()
	p.lock()
	defer p.unlock()
	r := p.requestLocked()
	r.Width = 1
	if !p.core.TryEnter(now, r, t) {
		p.recycleLocked(r)
		return nil, false
	}
	return r.releaser(), true
}

// AcquireStream counts a request of t as one of its streams, without waiting. It returns a *[tenant.Refusal] or
// [tenant.ErrInvalidID].
func (p *Pool) AcquireStream(t tenant.Tenant) (release func(), err error) {
	now := p.now()
	p.lock()
	r := p.requestLocked()
	p.core.Stream(now, r, t)
	if r.State != Streaming {
		return nil, p.refuse(r)
	}
	p.unlock()
	return r.releaser(), nil
}

// releaser returns the function that gives back what r holds when it is first called. It needs no lock: a request that
// holds something is its holder's alone.
func (r *Request) releaser() func() {
	use := r.uses
	return func() { r.pool.release(r, use) }
}

func (p *Pool) release(r *Request, use uint64) {
	now := p.now()
	p.lock()
	defer p.unlock()
	if r.uses == use {
		p.core.Leave(now, r)
		p.recycleLocked(r)
	}
}

// refuse gives up the lock, and returns the error of a request that was turned away.
func (p *Pool) refuse(r *Request) error {
	defer p.unlock()
	defer p.recycleLocked(r)
	if r.State == Unnamed {
		return tenant.ErrInvalidID
	}
	refusal := &tenant.Refusal{Reason: r.Reason, Tier: r.Tier, Policy: r.Tier, RetryAfter: time.Duration(r.RetryAfter)}
	if r.Late {
		refusal.Cause = context.DeadlineExceeded
	}
	return refusal
}

// requestLocked returns a request that is in nobody's use.
func (p *Pool) requestLocked() *Request {
	n := len(p.spare)
	if n == 0 {
		return &Request{pool: p, decided: make(chan struct{}, 1)}
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
