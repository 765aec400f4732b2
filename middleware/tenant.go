package middleware

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

var (
	errNoTenant  = errors.New("middleware: no tenant in the request's context: mount what puts one there before")
	errBadTenant = errors.New("middleware: the tenant in the request's context has no valid ID")
	errBadID     = errors.New("middleware: the resolver's tenant has no valid ID")
)

// identify finds out who asks.
func (pc *piece) identify(r *http.Request, p *passage) (tenant.Tenant, *denial) {
	if pc.stages&stageTenant == 0 || pc.cfg.Resolver == nil {
		return fromContext(r)
	}
	t, err := pc.cfg.Resolver.Resolve(r)
	if err == nil && tenant.CheckID(t.ID) != nil {
		return tenant.Tenant{}, denialFor(r, errors.Join(tenant.ErrForbidden, errBadID))
	}
	if errors.Is(err, tenant.ErrNoCredential) {
		// A call by a handler, with its request's context, needs no credential: no client can make up a context.
		if host := p.outer.through(pc.Gate); host != nil && !host.skipped {
			return host.tenant, nil
		}
	}
	if err != nil {
		return tenant.Tenant{}, denialFor(r, err)
	}
	return t, nil
}

// fromContext returns the tenant that another middleware has put into the context.
func fromContext(r *http.Request) (tenant.Tenant, *denial) {
	t, ok := tenant.FromContext(r.Context())
	if !ok {
		return t, denialFor(r, errNoTenant)
	}
	if tenant.CheckID(t.ID) != nil {
		return tenant.Tenant{}, denialFor(r, errBadTenant)
	}
	return t, nil
}

// adopt makes t the tenant of a request, once it is known which tier it claims.
func (pc *piece) adopt(r *http.Request, p *passage, t tenant.Tenant) *denial {
	p.tally = pc.metrics.tallyOf(t.ID)
	p.tenant = t
	if pc.cfg.TierOf != nil {
		if denied := pc.lookUpTier(r, p); denied != nil {
			return denied
		}
	}
	if !pc.hasTier(p.tenant.Tier) {
		pc.metrics.unknownTiers.Add(1)
	}
	if pc.cfg.Quota == nil || pc.stages&stageQuota == 0 { // else quota is about to say
		p.tier = pc.expectedTier(p)
	}
	return nil
}

// lookUpTier asks TierOf. Its answer is as old as the question: of two that overtake each other the later asked holds.
func (g *Gate) lookUpTier(r *http.Request, p *passage) *denial {
	asked := time.Now()
	tier, err := g.cfg.TierOf(r.Context(), p.tenant)
	switch {
	case err != nil && clientLeft(r, err):
		return denialFor(r, err)
	case err != nil:
		g.metrics.tierFailures.Add(1)
		p.lookup = err
		p.tenant.TierAsOf = time.Time{} // the claim loses to all that is known
	case tier != "":
		p.tenant.Tier, p.tenant.TierAsOf = tier, asked
	}
	return nil
}

// hasTier reports whether all catalogues have a tier of that name, or none was asserted.
func (g *Gate) hasTier(name string) bool {
	if name == "" {
		return true
	}
	for _, tiers := range g.catalogues {
		if _, ok := tiers.Lookup(name); !ok {
			return false
		}
	}
	return true
}

// expectedTier returns the tier that was applied, or will probably be; "": there is no telling.
func (g *Gate) expectedTier(p *passage) string {
	if tier := p.root().appliedTier(); tier != "" || g.tierOf == nil {
		return tier
	}
	return g.tierOf(p.tenant)
}

// withTenant returns ctx with t in it, on the tier that was applied if one is given.
func withTenant(ctx context.Context, t tenant.Tenant, tier string) context.Context {
	if tier != "" {
		t.Tier = tier
	}
	if now, ok := tenant.FromContext(ctx); ok && now == t {
		return ctx
	}
	return tenant.NewContext(ctx, t)
}

// clientLeft reports whether err says that the client went away, and it did.
func clientLeft(r *http.Request, err error) bool {
	return errors.Is(err, context.Canceled) && r.Context().Err() != nil
}
