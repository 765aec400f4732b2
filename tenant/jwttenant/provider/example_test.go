package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

func ExampleAuth0() {
	issuer := provider.Auth0{Domain: "exampleco.eu.auth0.com", Audience: "https://api.example.com/"}.Issuer()
	issuer.TierClaim = []string{"https://example.com/plan"} // an Action adds it

	// Here as in the tests of a service, tokens come from jwttest. In production Issuers has issuer itself.
	auth0 := jwttest.New(issuer)
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{auth0.Config()}})
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	exampleco := tenant.Tenant{ID: "org_9ybsU1dN2dKfDkBi", Tier: "pro"}
	fmt.Println(resolver.Resolve(auth0.Authorize(r, exampleco)))

	// An ID token is for the application.
	_, err = resolver.Resolve(auth0.Authorize(r, exampleco, jwttest.Claims{"aud": "ENDmmAJsbwI1hOG1KPJddQ8LHjV6kLkV"}))
	fmt.Println(err)
	// The user has chosen no organization.
	_, err = resolver.Resolve(auth0.Authorize(r, tenant.Tenant{}))
	fmt.Println(err)
	// Output:
	// org_9ybsU1dN2dKfDkBi (pro) <nil>
	// tenant: invalid credential: aud does not name this service
	// tenant: forbidden: there is no tenant claim
}

// A setting of the wrong form is an error at start-up.
func ExampleEntraID() {
	_, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{
		provider.EntraID{
			ClientID:    "6e74172b-be56-4843-9ff4-e66a39bb12e3",
			Directories: []string{"72f988bf-86f1-41af-91ab-2d7cd011db47", "common"},
		}.Issuer(),
	}})
	fmt.Println(err)
	// Output:
	// jwttenant: Issuers[0].Err: provider: EntraID.Directories[1] is not a GUID in lower case
}
