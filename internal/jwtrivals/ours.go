package main

import (
	"net/http"

	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func newResolver(i issuer, maxRemembered int) *jwttenant.Resolver {
	return must(jwttenant.New(jwttenant.Config{
		Issuers: []jwttenant.Issuer{{
			Issuer:      issuerName,
			Audience:    audience,
			Algorithms:  []string{i.alg},
			Keys:        i.keys,
			TenantClaim: []string{"tenant_id"},
			TierClaim:   []string{"plan"},
		}},
		Leeway:        leeway,
		MaxRemembered: maxRemembered,
	}))
}

func resolve(r *jwttenant.Resolver) find {
	return func(x *exchange) {
		if t, err := r.Resolve(x.request); err == nil {
			x.tenant = t.ID
		}
	}
}

// newRemembered has the default memory, which has room for all tokens that are measured.
func newRemembered(i issuer) find { return resolve(newResolver(i, 0)) }

// newUnremembered verifies each token, and on two processors one at a time: the default bound on verifications stands.
func newUnremembered(i issuer) find { return resolve(newResolver(i, -1)) }

// newGate returns the first piece of the gate, which finds the tenant and counts its requests.
func newGate(i issuer) find {
	gate := must(middleware.New(middleware.Config{Resolver: newResolver(i, 0)}))
	handler := gate.Tenant(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, _ := tenant.FromContext(r.Context())
		w.(*exchange).tenant = t.ID
	}))
	return func(x *exchange) { handler.ServeHTTP(x, x.request) }
}
