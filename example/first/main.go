// First is the program that README.md begins with.
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

func main() {
	// What a plan allows. The first name is the plan of a tenant that has none, or an unknown one.
	tiers := must(tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 1, Burst: 10, Share: 2},
		tenant.Tier{Name: "enterprise", Rate: 100, Burst: 300, Share: 6},
	))

	// Who is asking: what a verified token says. This issuer mints tokens for tests; a real one is described by its
	// name, its algorithms and its keys: jwttenant.Issuer{Issuer: "https://id.example.com/", ...}.
	issuer := jwttest.New(jwttenant.Issuer{TenantClaim: []string{"tenant_id"}, TierClaim: []string{"plan"}})
	resolver := must(jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer.Config()}}))

	// How often, and how many at once.
	limiter := must(quota.New(quota.Config{Tiers: tiers}))
	defer limiter.Close()
	slots := must(fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers}))
	defer slots.Close()

	gate := must(middleware.New(middleware.Config{Resolver: resolver, Quota: limiter, Slots: slots}))
	defer gate.Close()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		t, _ := tenant.FromContext(r.Context())
		fmt.Fprintf(w, "the orders of %s\n", t.ID)
	})
	api := httptest.NewServer(gate.Handler(mux)) // yours: http.ListenAndServe(":8080", gate.Handler(mux))
	defer api.Close()

	// Two tenants send eleven requests each.
	for _, t := range []tenant.Tenant{{ID: "acme", Tier: "free"}, {ID: "globex", Tier: "enterprise"}} {
		request := issuer.Authorize(must(http.NewRequest("GET", api.URL+"/orders", nil)), t)
		answered := 0
		for range 11 {
			answer := must(http.DefaultClient.Do(request))
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				answered++
			} else {
				fmt.Printf("%v: %s, retry after %s s\n", t, answer.Status, answer.Header.Get("Retry-After"))
			}
		}
		fmt.Printf("%v: %d answered\n", t, answered)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
