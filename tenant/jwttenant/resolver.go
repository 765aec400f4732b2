package jwttenant

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Resolver finds the tenant of a request in its bearer token; see the package comment for what it accepts. It is a
// [tenant.Resolver].
//
// All methods may be called concurrently. The zero Resolver is not usable: see [New].
type Resolver struct {
	issuers  map[string]*issuer // by name; never changed
	leeway   time.Duration
	maxBytes int

	accepted, refused, ignoredTiers atomic.Uint64
}

// Stats are counts since [New].
type Stats struct {
	// Accepted and Refused count tokens. Requests without one are in neither.
	Accepted, Refused uint64
	// IgnoredTierClaims counts accepted tokens with a tier claim that is not the name of a tier.
	IgnoredTierClaims uint64
}

// Stats returns the counts so far.
func (r *Resolver) Stats() Stats {
	return Stats{
		Accepted:          r.accepted.Load(),
		Refused:           r.refused.Load(),
		IgnoredTierClaims: r.ignoredTiers.Load(),
	}
}

// IgnoredTierClaims returns the count of that name in [Resolver.Stats].
func (r *Resolver) IgnoredTierClaims() uint64 { return r.ignoredTiers.Load() }

// Resolve returns the tenant that the bearer token of req speaks for: ID and Tier from the issuer's claims, TierAsOf
// from iat, Subject from sub, and the claims themselves.
//
// The error matches [tenant.ErrNoCredential] where there is no bearer token, [tenant.ErrMalformed] where there is not
// exactly one, [tenant.ErrInvalid] for a token that is not good, [tenant.ErrForbidden] for a good one that names no
// tenant, or one that its issuer may not speak for, and [tenant.ErrUnavailable] where the keys cannot be had now.
func (r *Resolver) Resolve(req *http.Request) (tenant.Tenant, error) {
	raw, err := bearer(req, r.maxBytes)
	if err == errNoCredential {
		return tenant.Tenant{}, err
	}
	var t tenant.Tenant
	if err == nil {
		t, err = r.verify(raw, time.Now())
	}
	if err != nil {
		r.refused.Add(1)
		return tenant.Tenant{}, err
	}
	r.accepted.Add(1)
	return t, nil
}

func (r *Resolver) verify(raw string, now time.Time) (tenant.Tenant, error) {
	t, err := parseToken(raw)
	if err != nil {
		return tenant.Tenant{}, err
	}
	name, _ := text(t.claims.at("iss"))
	i, ok := r.issuers[name]
	if !ok {
		return tenant.Tenant{}, errIssuer
	}
	if err := i.verify(t, now, r.leeway); err != nil {
		return tenant.Tenant{}, err
	}
	speaksFor, ignored, err := i.tenant(t)
	if ignored {
		r.ignoredTiers.Add(1)
	}
	return speaksFor, err
}
