package middleware

import (
	"net/http"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// judge asks quota about the request, unless it was asked before, and answers a refusal. It returns the request for the
// next handler, and whether it passes.
func (g *Gate) judge(w http.ResponseWriter, r *http.Request, p *passage) (*http.Request, bool) {
	root := p.root()
	if !root.claimJudgement() {
		return r, true
	}
	d, err := g.cfg.Quota.Take(r.Context(), root.tenant, g.operation(r, p))
	if err != nil {
		root.giveUpJudgement()
		g.cannotJudge(w, r, p, err)
		return r, false
	}
	root.noteJudgement(&d)
	r = onTier(r, d.Tier)
	refusal := refusalOf(&d)
	g.setRateHeaders(w.Header(), &d, refusal, time.Now())
	if refusal != nil {
		g.refuse(w, r, p, refusal)
		return r, false
	}
	return r, true
}

// cannotJudge answers a request that quota could not judge: its context ended.
func (g *Gate) cannotJudge(w http.ResponseWriter, r *http.Request, p *passage, err error) {
	if refusal := g.refusalFor(r, p, err); refusal != nil {
		g.refuse(w, r, p, refusal)
		return
	}
	g.deny(w, r, p, denialFor(r, err))
}

// onTier returns r with its tenant on the tier that was applied.
func onTier(r *http.Request, tier string) *http.Request {
	t, ok := tenant.FromContext(r.Context())
	if !ok || t.Tier == tier {
		return r
	}
	return r.WithContext(withTenant(r.Context(), t, tier))
}

// refusalOf returns the refusal that d is; nil: none.
func refusalOf(d *quota.Decision) *tenant.Refusal {
	if d.Allowed {
		return nil
	}
	refusal := &tenant.Refusal{Reason: d.Reason, Tier: d.Tier, Policy: d.Policy}
	if d.RetryAfter != quota.Never {
		refusal.RetryAfter = d.RetryAfter
	}
	return refusal
}

// claimJudgement reports whether quota is yet to judge the request: then it is the caller's to have it judged.
func (p *passage) claimJudgement() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	claimed := !p.judged
	p.judged = true
	return claimed
}

func (p *passage) giveUpJudgement() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judged = false
}

// noteJudgement notes the decision. A refusal is no judgement for good: a handler that tries again is judged again.
func (p *passage) noteJudgement(d *quota.Decision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judged, p.charged, p.owing, p.outcome.Decision = d.Allowed, d.Allowed, !d.Allowed, *d
	p.outcome.Operation, p.tier = d.Operation, d.Tier
}
