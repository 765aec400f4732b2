package provider_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

func TestClerk_AcceptsAccessTokensOnly(t *testing.T) {
	v := newVendor(t, "https://clerk.your-site.com/.well-known/jwks.json", rsaKey())
	clerk := provider.Clerk{
		Domain:  "clerk.your-site.com",
		Origins: []string{"https://example.com", "https://admin.example.com"},
		Keys:    v.config,
	}

	session := documented(`{
		"azp": "https://example.com",
		"exp": 1713158400,
		"fva": [7, -1],
		"iat": 1713158400,
		"iss": "https://clerk.your-site.com",
		"jti": "1234567890",
		"nbf": 1713158400,
		"sid": "sess_123",
		"sub": "user_123",
		"v": 2,
		"pla": "u:free,o:pro",
		"fea": "o:dashboard,o:impersonation",
		"sts": "active",
		"o": {"id": "org_123", "slg": "org-slug", "rol": "admin", "per": "read,manage", "fpm": "3,2"}
	}`)
	v.check(t, clerk.Issuer(), session, "org_123", []tokenCase{
		{"the other origin", changes{"azp": "https://admin.example.com"}, nil},
		{"no status", changes{"sts": nil}, nil},
		{"impersonated", changes{
			"act": changes{"iss": "https://dashboard.clerk.com", "sid": "sess_456", "sub": "user_456"},
		}, nil},
		{"no active organization", changes{"o": nil}, tenant.ErrForbidden},
		{"user's metadata names one", changes{
			"o": nil, "unsafe_metadata": changes{"id": "org_9"}, "org_id": "org_9",
		}, tenant.ErrForbidden},
		{"an origin that is not listed", changes{"azp": "https://evil.example"}, tenant.ErrInvalid},
		{"no origin", changes{"azp": nil}, tenant.ErrInvalid},
		{"session with tasks to do", changes{"sts": "pending"}, tenant.ErrInvalid},
		{"another instance", changes{"iss": "https://other.clerk.accounts.dev"}, tenant.ErrInvalid},
		{"customized, for another service", changes{"aud": "convex"}, tenant.ErrInvalid},
	})

	// Custom tokens are for third parties, and may have any claims; but not those that are bound to the session.
	template := documented(`{
		"aud": "https://my-site.com",
		"version": 1,
		"foo": {"bar": [1, 2, 3]},
		"user_id": "user_abcdef123456789",
		"avatar": "https://example.com/avatar.jpg",
		"full_name": "Doe Maria",
		"email": "maria@example.com",
		"phone": null,
		"unsafe_meta": {"foo": {"bar": 42}},
		"azp": "https://example.com",
		"exp": 1639398300,
		"iat": 1639398272,
		"iss": "https://clerk.your-site.com",
		"jti": "10db7f531a90cb2faea4",
		"nbf": 1639398220,
		"sub": "user_1deJLArSTiWiF1YdsEWysnhJLLY",
		"o": {"id": "org_123"}
	}`)
	v.checkRefused(t, clerk.Issuer(), "JWT template", template)
	v.checkRefused(t, clerk.Issuer(), "JWT template without aud", template.with(changes{"aud": nil}))

	t.Run("native application", func(t *testing.T) {
		issuer := clerk.Issuer()
		issuer.Audience, issuer.AudienceClaim = "orders-api", ""
		issuer.RequiredClaims["azp"] = append(issuer.RequiredClaims["azp"], "")
		v.check(t, issuer, session.with(changes{"aud": "orders-api", "azp": nil}), "org_123", []tokenCase{
			{"from the web", changes{"azp": "https://example.com"}, nil},
			{"not for the service", changes{"aud": nil}, tenant.ErrInvalid},
			{"an origin that is not listed", changes{"azp": "https://evil.example"}, tenant.ErrInvalid},
		})
	})
}

// Version 1 of the claims is deprecated, but in use.
func TestClerk_Version1(t *testing.T) {
	v := newVendor(t, "https://your-site.clerk.accounts.dev/.well-known/jwks.json", rsaKey())
	issuer := provider.Clerk{
		Domain: "your-site.clerk.accounts.dev", Origins: []string{"http://localhost:3000"}, Keys: v.config,
	}.Issuer()
	issuer.TenantClaim = []string{"org_id"}

	session := documented(`{
		"azp": "http://localhost:3000",
		"exp": 1713158400,
		"fva": [7, -1],
		"iat": 1713158400,
		"iss": "https://your-site.clerk.accounts.dev",
		"nbf": 1713158400,
		"sid": "sess_123",
		"sub": "user_123",
		"org_id": "org_123",
		"org_permissions": ["org:admin:example_permission", "org:member:example_permission"],
		"org_slug": "org-slug",
		"org_role": "org:admin"
	}`)
	v.check(t, issuer, session, "org_123", []tokenCase{
		{"no active organization", changes{"org_id": nil}, tenant.ErrForbidden},
	})
}
