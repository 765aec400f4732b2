package provider_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

func TestSupabase_AcceptsAccessTokensOnly(t *testing.T) {
	v := newVendor(t, "https://abcdefghijklmnopqrst.supabase.co/auth/v1/.well-known/jwks.json", ecKey())
	supabase := provider.Supabase{Domain: "abcdefghijklmnopqrst.supabase.co", Keys: v.config}

	// As documented, with a tenant in app_metadata.
	access := documented(`{
		"aal": "aal1",
		"amr": [{"method": "password", "timestamp": 1640991600}],
		"app_metadata": {"provider": "email", "providers": ["email"], "tenant_id": "acme"},
		"aud": "authenticated",
		"email": "user@example.com",
		"exp": 1640995200,
		"iat": 1640991600,
		"iss": "https://abcdefghijklmnopqrst.supabase.co/auth/v1",
		"phone": "",
		"role": "authenticated",
		"session_id": "123e4567-e89b-12d3-a456-426614174000",
		"sub": "123e4567-e89b-12d3-a456-426614174000",
		"user_metadata": {"name": "John Doe"},
		"is_anonymous": false
	}`)
	const oauthClient = "9a8b7c6d-5e4f-3a2b-1c0d-9e8f7a6b5c4d"
	v.check(t, supabase.Issuer(), access, "acme", []tokenCase{
		{"user_metadata names another", changes{"user_metadata": changes{"tenant_id": "evil"}}, nil},
		{"only user_metadata names one", changes{
			"app_metadata": changes{"provider": "email"}, "user_metadata": changes{"tenant_id": "acme"},
		}, tenant.ErrForbidden},
		{"tenant_id outside of app_metadata", changes{"app_metadata": nil, "tenant_id": "acme"}, tenant.ErrForbidden},
		{"service role", changes{"role": "service_role"}, tenant.ErrInvalid},
		{"anonymous role", changes{"role": "anon", "aud": "anon"}, tenant.ErrInvalid},
		{"another application, of the OAuth server", changes{"client_id": oauthClient}, tenant.ErrInvalid},
		{"ID token of the OAuth server", changes{"aud": oauthClient, "role": nil}, tenant.ErrInvalid},
		{"another project", changes{"iss": "https://tsrqponmlkjihgfedcba.supabase.co/auth/v1"}, tenant.ErrInvalid},
		{"API key", changes{"iss": "supabase", "role": "anon", "aud": nil, "session_id": nil}, tenant.ErrInvalid},
	})

	t.Run("an application of the OAuth server that is listed", func(t *testing.T) {
		issuer := supabase.Issuer()
		issuer.RequiredClaims["client_id"] = append(issuer.RequiredClaims["client_id"], oauthClient)
		v.check(t, issuer, access, "acme", []tokenCase{
			{"the application", changes{"client_id": oauthClient}, nil},
			{"another one", changes{"client_id": "00000000-5e4f-3a2b-1c0d-9e8f7a6b5c4d"}, tenant.ErrInvalid},
		})
	})
}

func TestSupabase_RSAKey(t *testing.T) {
	v := newVendor(t, "https://auth.example.com/auth/v1/.well-known/jwks.json", rsaKey())
	issuer := provider.Supabase{Domain: "auth.example.com", TenantKey: "org", Keys: v.config}.Issuer()
	v.check(t, issuer, documented(`{
		"aal": "aal1",
		"app_metadata": {"org": "acme"},
		"aud": "authenticated",
		"exp": 1640995200,
		"iat": 1640991600,
		"iss": "https://auth.example.com/auth/v1",
		"role": "authenticated",
		"session_id": "123e4567-e89b-12d3-a456-426614174000",
		"sub": "123e4567-e89b-12d3-a456-426614174000"
	}`), "acme", nil)
}
