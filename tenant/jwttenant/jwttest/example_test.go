package jwttest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

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
