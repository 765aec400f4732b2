package provider_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

func TestWorkOS_AcceptsAccessTokensOnly(t *testing.T) {
	v := newVendor(t, "https://api.workos.com/sso/jwks/client_123456789", rsaKey())
	workOS := provider.WorkOS{ClientID: "client_123456789", Keys: v.config}

	// As documented, with the iss and client_id that are in the tokens of today's environments.
	access := documented(`{
		"iss": "https://api.workos.com/user_management/client_123456789",
		"client_id": "client_123456789",
		"sub": "user_01HBEQKA6K4QJAS93VPE39W1JT",
		"act": {"sub": "admin@foocorp.com"},
		"org_id": "org_01HRDMC6CM357W30QMHMQ96Q0S",
		"role": "member",
		"roles": ["member"],
		"permissions": ["posts:read", "posts:write"],
		"entitlements": ["audit-logs"],
		"sid": "session_01HQSXZGF8FHF7A9ZZFCW4387R",
		"jti": "01HQSXZXPPFPKMDD32RKTFY6PV",
		"exp": 1709193857,
		"iat": 1709193557
	}`)
	const organization = "org_01HRDMC6CM357W30QMHMQ96Q0S"
	v.check(t, workOS.Issuer(), access, organization, []tokenCase{
		{"no organization", changes{"org_id": nil}, tenant.ErrForbidden},
		{"user's metadata names one", changes{
			"org_id": nil, "urn:myapp:metadata": changes{"org_id": "org_9"},
		}, tenant.ErrForbidden},
		{"another application", changes{"client_id": "client_987654321"}, tenant.ErrInvalid},
		{"no application", changes{"client_id": nil}, tenant.ErrInvalid},
		{"no session", changes{"sid": nil}, tenant.ErrInvalid},
		{"template adds another audience", changes{"aud": "convex"}, tenant.ErrInvalid},
		{"another environment", changes{
			"iss": "https://api.workos.com/user_management/client_987654321",
		}, tenant.ErrInvalid},
		{"issuer of older environments", changes{"iss": "https://api.workos.com"}, tenant.ErrInvalid},
	})

	// Connect: tokens for other people's applications, and ID tokens, come from the AuthKit domain.
	v.checkRefused(t, workOS.Issuer(), "Connect", access.with(changes{
		"iss": "https://youthful-ground-37.authkit.app", "aud": "client_123456789", "scope": "openid profile",
	}))

	t.Run("older environment", func(t *testing.T) {
		issuer := workOS.Issuer()
		issuer.Issuer = "https://api.workos.com"
		v.check(t, issuer, access.with(changes{"iss": "https://api.workos.com"}), organization, []tokenCase{
			{"of another client", changes{"client_id": "client_987654321"}, tenant.ErrInvalid},
		})
	})
}
