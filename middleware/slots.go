package middleware

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// occupy calls next on a slot.
func (g *Gate) occupy(w http.ResponseWriter, r *http.Request, p *passage, next http.Handler) {
	if p.root().owes() { // turned away before, and tried again by a middleware between quota and slots
		var ok bool
		if r, ok = g.judge(w, r, p); !ok {
			return
		}
	}
	if !p.claimSlot() { // the request was here before
		visit := &passage{Context: r.Context(), gate: g, outer: passageOf(r.Context())}
		visit.visit(p)
		visit.claimSlot()
		p, r = visit, r.WithContext(visit)
	}
	if !p.borrow() {
		release, err := g.acquire(r, p)
		if err != nil {
			g.turnAway(w, r, p, err)
			return
		}
		p.hold(release)
	}
	defer p.leave(p.held)
	p.settle(Admitted, tenant.ReasonNone, 0, nil)
	next.ServeHTTP(w, r)
}

// acquire takes from the pool what the request weighs, and measures how long that takes.
func (g *Gate) acquire(r *http.Request, p *passage) (release func(), err error) {
	weight := g.weight(r, p)
	start := time.Now()
	p.tally.queued.Add(1)
	defer func() {
		wait := time.Since(start)
		p.tally.queued.Add(-1)
		p.tally.waits.observe(wait)
		p.noteWait(wait)
	}()
	if weight > 1 {
		return g.cfg.Slots.(wideSlots).AcquireN(r.Context(), p.tenant, weight) // New has checked that it is one
	}
	return g.cfg.Slots.Acquire(r.Context(), p.tenant)
}

// turnAway answers a request that got no slot, and gives back what quota took for it.
func (g *Gate) turnAway(w http.ResponseWriter, r *http.Request, p *passage, err error) {
	defer p.unclaimSlot()
	refusal := g.refusalFor(r, p, err)
	if back := refundOf(r, err); back != nil {
		g.refund(w, r, p, refusal, back)
	}
	if refusal != nil {
		g.refuse(w, r, p, refusal)
		return
	}
	g.deny(w, r, p, denialFor(r, err))
}

// refundFunc gives back what a decision took, or some of it.
type refundFunc func(*quota.Limiter, context.Context, *quota.Decision) error

// refundOf returns how much of its cost r gets back, which got no slot because of err: all of it where that is not the
// tenant's doing; what counts against its calendar quotas where its own queue was full, for a storm of retries must not
// be free; and nothing (nil) where the client left.
func refundOf(r *http.Request, err error) refundFunc {
	refusal, refused := errors.AsType[*tenant.Refusal](err)
	switch {
	case refused && refusal.Reason == tenant.ReasonShare:
		return (*quota.Limiter).RefundQuotas
	case !refused && clientLeft(r, err):
		return nil
	}
	return (*quota.Limiter).Refund
}

// refund gives back what quota took for the request, and brings the headers up to date. What fails to go back is lost to
// the tenant, and counted. refusal is what will be answered; nil: something else than a refusal.
func (g *Gate) refund(w http.ResponseWriter, r *http.Request, p *passage, refusal *tenant.Refusal, back refundFunc) {
	d, ok := p.claimRefund()
	if !ok {
		return
	}
	if err := back(g.cfg.Quota, context.WithoutCancel(r.Context()), &d); err != nil {
		g.metrics.refundFailures.Add(1)
	}
	p.noteRefund(&d)
	g.setRateHeaders(w.Header(), &d, refusal, time.Now())
}

// claimRefund returns the decision to refund, at most once. It is not a visit's to refund.
func (p *passage) claimRefund() (d quota.Decision, ok bool) {
	if p.host != nil {
		return d, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ok = p.charged
	if ok {
		p.judged, p.charged, p.owing = false, false, true
	}
	return p.outcome.Decision, ok
}

// owes reports whether the request is to be judged again before it may run.
func (p *passage) owes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owing
}

func (p *passage) noteRefund(d *quota.Decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.Decision = *d
}

// noteWait notes how long the request waited for its slot.
func (p *passage) noteWait(wait time.Duration) {
	if p.host != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.Wait = wait
}
