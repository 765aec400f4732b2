package tenant_test

import (
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/tenantgate/tenantgate/tenant"
)

func ExampleNewAPIKeys() {
	// Once, where the key is made: its owner gets the key, the service keeps the hash.
	key, hash := tenant.GenerateAPIKey("acme_live_")

	keys, err := tenant.NewAPIKeys(tenant.APIKeysConfig{
		Prefix: "acme_live_",
		Keys:   map[[32]byte]tenant.Tenant{hash: {ID: "acme", Tier: "pro"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest("GET", "/orders", nil)
	r.Header.Set("X-Api-Key", key)
	fmt.Println(keys.Resolve(r))

	keys.Remove(hash)
	_, err = keys.Resolve(r)
	fmt.Println(errors.Is(err, tenant.ErrInvalid))
	// Output:
	// acme (pro) <nil>
	// true
}

// API keys and tokens share the Authorization header, and who has neither is let in on a tier of its own.
func ExampleFirst_keysAndTokens() {
	key, hash := tenant.GenerateAPIKey("acme_live_")
	keys, err := tenant.NewAPIKeys(tenant.APIKeysConfig{
		Scheme: "Bearer",
		Prefix: "acme_live_",
		Keys:   map[[32]byte]tenant.Tenant{hash: {ID: "acme", Tier: "pro"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens := tokens() // the *jwttenant.Resolver of a service
	resolver := tenant.First(keys, tokens, tenant.Anonymous("trial"))

	for _, authorization := range []string{"Bearer " + key, "", "Bearer acme_live_guess", "Bearer eyJ.forged"} {
		r := httptest.NewRequest("GET", "/orders", nil)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		t, err := resolver.Resolve(r)
		fmt.Println(t, errors.Is(err, tenant.ErrInvalid))
	}
	// Output:
	// acme (pro) false
	// _anonymous (trial) false
	//  true
	//  true
}

func ExampleSubdomain() {
	key, hash := tenant.GenerateAPIKey("")
	keys, err := tenant.NewAPIKeys(tenant.APIKeysConfig{Keys: map[[32]byte]tenant.Tenant{hash: {ID: "acme"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	resolver := tenant.Subdomain("example.com", keys)
	for _, host := range []string{"acme.example.com", "ACME.example.com:8443", "other.example.com", "example.com"} {
		r := httptest.NewRequest("GET", "http://"+host+"/orders", nil)
		r.Header.Set("X-Api-Key", key)
		_, err := resolver.Resolve(r)
		fmt.Println(host, errors.Is(err, tenant.ErrForbidden))
	}
	// Output:
	// acme.example.com false
	// ACME.example.com:8443 false
	// other.example.com true
	// example.com true
}

// A tenant whose ID is no label of a host has one in a claim.
func ExampleSubdomainFunc() {
	verified := as(tenant.Tenant{ID: "org_2aB", Claims: `{"slug":"acme"}`}) // in a service, what it has verified
	resolver := tenant.SubdomainFunc("example.com", verified, func(t tenant.Tenant) string {
		var claims map[string]any // a struct would take "SLUG" too
		if err := t.DecodeClaims(&claims); err != nil {
			return "" // no host
		}
		slug, _ := claims["slug"].(string)
		return slug
	})
	fmt.Println(resolver.Resolve(httptest.NewRequest("GET", "http://acme.example.com/", nil)))
	// Output: org_2aB <nil>
}
