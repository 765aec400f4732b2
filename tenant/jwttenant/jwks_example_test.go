package jwttenant_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

// serveIssuer stands in for an identity provider: it says at its own address where its keys are, and has them there.
func serveIssuer() (*httptest.Server, *jwttest.Issuer) {
	var issuer *jwttest.Issuer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { issuer.ServeHTTP(w, r) }))
	issuer = jwttest.New(jwttenant.Issuer{Issuer: server.URL, Audience: "orders-api"})
	return server, issuer
}

func ExampleJWKS() {
	server, issuer := serveIssuer()
	defer server.Close()
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:      server.URL,
		Audience:    "orders-api",
		Algorithms:  []string{"ES256"},
		Keys:        jwttenant.JWKS(server.URL+"/keys", jwttenant.JWKSConfig{}),
		TenantClaim: []string{"tenant_id"},
	}}})
	if err != nil {
		panic(err)
	}
	defer resolver.Close()

	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	if err := resolver.Ready(r.Context()); err != nil { // or else the first request waits for the keys
		panic(err)
	}
	fmt.Println(resolver.Resolve(issuer.Authorize(r, tenant.Tenant{ID: "acme"})))
	// Output:
	// acme <nil>
}

func ExampleDiscovery() {
	server, _ := serveIssuer()
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:      server.URL,
		Audience:    "orders-api",
		Algorithms:  []string{"ES256"},
		Keys:        jwttenant.Discovery(jwttenant.JWKSConfig{}),
		TenantClaim: []string{"tenant_id"},
	}}})
	if err != nil {
		panic(err)
	}
	defer resolver.Close()

	// For a readiness probe. The issuer may be down afterwards.
	r := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	fmt.Println(resolver.Ready(r.Context()), resolver.Stats().Keys[0].Keys)
	server.Close()
	fmt.Println(resolver.Ready(r.Context()))
	// Output:
	// <nil> 1
	// <nil>
}
