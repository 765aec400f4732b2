package jwttest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

func ExampleNew() {
	issuer := jwttest.New(jwttenant.Issuer{TenantClaim: []string{"org", "id"}})
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer.Config()}})
	if err != nil {
		panic(err)
	}
	acme := tenant.Tenant{ID: "acme", Tier: "pro"}

	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	fmt.Println(resolver.Resolve(issuer.Authorize(r, acme)))
	fmt.Println(resolver.Resolve(issuer.Authorize(r, acme, jwttest.Expired())))

	t, err := resolver.Resolve(issuer.Authorize(r, acme, jwttest.Claims{"scope": "orders:read"}))
	var claims struct{ Scope string }
	fmt.Println(err, t.DecodeClaims(&claims), claims.Scope)
	// Output:
	// acme (pro) <nil>
	//  tenant: invalid credential: expired
	// <nil> <nil> orders:read
}

// The service under test fetches keys from the issuer, as it will from the real one.
func ExampleIssuer_ServeHTTP() {
	issuer := jwttest.New(jwttenant.Issuer{})
	server := httptest.NewTLSServer(issuer)
	defer server.Close()

	config := issuer.Config()
	config.Keys = jwttenant.JWKS(server.URL, jwttenant.JWKSConfig{
		Transport: server.Client().Transport, // trusts the server's certificate
		MaxWait:   time.Minute,               // a machine that is busy with tests may take longer than is good for requests
	})
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{config}})
	if err != nil {
		panic(err)
	}
	defer resolver.Close()

	newRequest := func() *http.Request {
		return issuer.Authorize(httptest.NewRequest(http.MethodGet, "/orders", nil), tenant.Tenant{ID: "acme"})
	}
	first := newRequest()
	fmt.Println(resolver.Resolve(first)) // waits for the keys

	issuer.Rotate()
	second := newRequest()
	fmt.Println(resolver.Resolve(second)) // its kid is unknown: the keys are fetched again
	fmt.Println(resolver.Resolve(first))  // its key was not among them

	server.Close()
	fmt.Println(resolver.Resolve(second)) // the keys that are known stay
	// Output:
	// acme <nil>
	// acme <nil>
	//  tenant: invalid credential: unknown key ID
	// acme <nil>
}
