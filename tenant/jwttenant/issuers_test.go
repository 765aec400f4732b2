package jwttenant_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// TestResolve_SeveralIssuersAreKeptApart has a platform that may speak for all tenants, and a customer with an identity
// provider of its own that may speak for itself only, and is not asked for its plan.
func TestResolve_SeveralIssuersAreKeptApart(t *testing.T) {
	platform := hmacIssuer()
	platform.AnyTenant = true
	customer := jwttenant.Issuer{
		Issuer:      "https://login.globex.example",
		Audience:    "globex-orders",
		Algorithms:  []string{"ES256"},
		Keys:        publicKey("g1", ecKey().Public()),
		TenantClaim: []string{"org", "id"},
		Tenants:     []string{"globex", "globex-test"},
	}
	r := newResolver(t, platform, customer)

	payload := goodClaims().with(claims{
		"iss": customer.Issuer, "aud": customer.Audience, "org": claims{"id": "globex"}, "plan": "enterprise",
		"tenant_id": absent,
	})
	byCustomer := func(changes claims) string {
		return mint("ES256", ecKey(), `{"alg":"ES256","kid":"g1"}`, payload.with(changes).json())
	}
	checkTokens(t, r, []tokenCase{
		{"the platform for any tenant", token(claims{"tenant_id": "globex"}), nil},
		{"the customer for its own", byCustomer(nil), nil},
		{"the customer for its second one", byCustomer(claims{"org": claims{"id": "globex-test"}}), nil},
		{"the customer for another one", byCustomer(claims{"org": claims{"id": "acme"}}), tenant.ErrForbidden},
		{"the customer for one of another case", byCustomer(claims{"org": claims{"id": "Globex"}}), tenant.ErrForbidden},
		{"the customer by the platform's claim", byCustomer(claims{"org": absent, "tenant_id": "globex"}), tenant.ErrForbidden},
		{"the customer's key as the platform", byCustomer(claims{"iss": issuerName, "aud": audience}), tenant.ErrInvalid},
		{"the customer for the platform's audience", byCustomer(claims{"aud": audience}), tenant.ErrInvalid},
		{"the platform's key as the customer",
			token(claims{"iss": customer.Issuer, "aud": customer.Audience}), tenant.ErrInvalid},
		{"a stranger", byCustomer(claims{"iss": "https://evil.example"}), tenant.ErrInvalid},
	})
	if got := checkAnswer(t, r, request(byCustomer(nil)), nil); got.ID != "globex" || got.Tier != "" {
		t.Errorf("tenant %v, want globex with no tier", got)
	}
}

func TestResolve_OneIssuerWithTenantsSpeaksForThemOnly(t *testing.T) {
	issuer := hmacIssuer()
	issuer.Tenants = []string{"acme"}
	checkTokens(t, newResolver(t, issuer), []tokenCase{
		{"its own", token(nil), nil},
		{"another", token(claims{"tenant_id": "globex"}), tenant.ErrForbidden},
	})
}

// TestResolve_ForbiddenOnlyWithAGoodToken: who cannot sign learns nothing about tenants.
func TestResolve_ForbiddenOnlyWithAGoodToken(t *testing.T) {
	issuer := hmacIssuer()
	issuer.Tenants = []string{"acme"}
	r := newResolver(t, issuer)
	forged := func(changes claims) string {
		return mint("HS256", []byte("0123456789abcdef0123456789abcdef"), `{"alg":"HS256"}`, goodClaims().with(changes).json())
	}
	checkTokens(t, r, []tokenCase{
		{"no tenant", forged(claims{"tenant_id": absent}), tenant.ErrInvalid},
		{"another tenant", forged(claims{"tenant_id": "globex"}), tenant.ErrInvalid},
		{"expired", forged(claims{"exp": 1}), tenant.ErrInvalid},
		{"expired, well signed, no tenant", token(claims{"exp": 1, "tenant_id": absent}), tenant.ErrInvalid},
	})
	if diff := cmp.Diff(tenant.ResolverStats{Refused: 4, Verified: 2}, r.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}
