package provider_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

func TestKeycloak_AcceptsAccessTokensOnly(t *testing.T) {
	v := newVendor(t, "https://id.example.com/realms/example/protocol/openid-connect/certs", rsaKey())
	issuer := provider.Keycloak{
		Realm: "https://id.example.com/realms/example", Audience: "orders-api", Keys: v.config,
	}.Issuer()

	access := documented(`{
		"exp": 1781349000,
		"iat": 1781348940,
		"auth_time": 1781348940,
		"jti": "onrtac:312ee6d8-5b1a-4f0a-a0a5-8a2e9a3e6d0f",
		"iss": "https://id.example.com/realms/example",
		"aud": ["orders-api", "account"],
		"sub": "36fa0f91-f94d-4a0c-afed-6b7d952e47da",
		"typ": "Bearer",
		"azp": "frontend",
		"sid": "2a88c258-f73a-4103-b862-e1fbd8f4e04e",
		"acr": "1",
		"allowed-origins": ["https://app.example.com"],
		"realm_access": {"roles": ["offline_access", "default-roles-example", "uma_authorization"]},
		"resource_access": {"account": {"roles": ["manage-account", "manage-account-links", "view-profile"]}},
		"scope": "openid organization email profile",
		"email_verified": true,
		"organization": {"testcorp": {"id": "42c3e46f-2477-44d7-a85b-d3b43f6b31fa", "attr1": ["value1"]}},
		"name": "Something Name",
		"preferred_username": "username",
		"email": "some@thing.com"
	}`)
	cases := []tokenCase{
		{"organization in a list", changes{"organization": []string{"testcorp"}}, nil},
		{"organization as a text", changes{"organization": "testcorp"}, nil},
		{"service is the only audience", changes{"aud": "orders-api"}, nil},
		{"no organization", changes{"organization": nil}, tenant.ErrForbidden},
		{"empty list", changes{"organization": []string{}}, tenant.ErrForbidden},
		{"several organizations", changes{"organization": []string{"testcorp", "other"}}, tenant.ErrForbidden},
		{"an attribute names one", changes{"organization": nil, "tenant": "testcorp"}, tenant.ErrForbidden},
		{"no audience mapper", changes{"aud": "account"}, tenant.ErrInvalid},
		{"no audience at all", changes{"aud": nil}, tenant.ErrInvalid},
		{"another realm", changes{"iss": "https://id.example.com/realms/master"}, tenant.ErrInvalid},
	}
	// Where users log in to the service itself, its ID tokens have the right audience.
	for _, typ := range []any{"ID", "Refresh", "Offline", "Logout", "DPoP", nil} {
		change := changes{"typ": typ, "aud": "orders-api"}
		cases = append(cases, tokenCase{"another kind of token", change, tenant.ErrInvalid})
	}
	v.check(t, issuer, access, "testcorp", cases)

	id := documented(`{
		"exp": 1781349000,
		"iat": 1781348940,
		"auth_time": 1781348940,
		"jti": "a0019df9-7370-0e74-c316-a613a6fc9783",
		"iss": "https://id.example.com/realms/example",
		"aud": "orders-api",
		"sub": "36fa0f91-f94d-4a0c-afed-6b7d952e47da",
		"typ": "ID",
		"azp": "orders-api",
		"sid": "2a88c258-f73a-4103-b862-e1fbd8f4e04e",
		"at_hash": "uHUl9PtVRuABezMMlDfjLQ",
		"organization": ["testcorp"],
		"preferred_username": "username"
	}`)
	v.checkRefused(t, issuer, "ID token", id)
}

// inClear makes all requests without TLS, and of the one host.
type inClear struct{ host string }

func (c inClear) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", c.host
	return http.DefaultTransport.RoundTrip(r)
}

// A Keycloak beside the service, in a network of containers, has no certificate, and its iss is what the browser sees.
func TestKeycloak_WithoutTLSByTransport(t *testing.T) {
	v := &vendor{key: rsaKey()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/realms/example/protocol/openid-connect/certs" {
			http.NotFound(w, r)
			return
		}
		must(w.Write(v.document()))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)

	issuer := provider.Keycloak{Realm: "http://keycloak:8080/realms/example", Audience: "orders-api"}.Issuer()
	issuer.Keys = jwttenant.JWKS("https://keycloak.internal/realms/example/protocol/openid-connect/certs",
		jwttenant.JWKSConfig{Transport: inClear{strings.TrimPrefix(server.URL, "http://")}})
	v.check(t, issuer, documented(`{
		"exp": 1781349000,
		"iat": 1781348940,
		"iss": "http://keycloak:8080/realms/example",
		"aud": ["orders-api", "account"],
		"typ": "Bearer",
		"organization": ["testcorp"]
	}`), "testcorp", nil)
}
