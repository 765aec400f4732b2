package provider_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

func TestCognito_AcceptsAccessTokensOnly(t *testing.T) {
	v := newVendor(t, "https://cognito-idp.us-west-2.amazonaws.com/us-west-2_example/.well-known/jwks.json", rsaKey())
	cognito := provider.Cognito{
		PoolID:    "us-west-2_example",
		ClientIDs: []string{"57cbishk4j24pabc1234567890", "617jkna9pqeg8rmgtg9uv4e6j4"},
		Keys:      v.config,
	}

	// As documented, with a claim of the pre token generation trigger.
	access := documented(`{
		"sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		"device_key": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		"cognito:groups": ["admin"],
		"token_use": "access",
		"scope": "aws.cognito.signin.user.admin",
		"auth_time": 1562190524,
		"iss": "https://cognito-idp.us-west-2.amazonaws.com/us-west-2_example",
		"exp": 1562194124,
		"iat": 1562190524,
		"origin_jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		"jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		"client_id": "57cbishk4j24pabc1234567890",
		"username": "janedoe@example.com",
		"tenant_id": "acme"
	}`)
	v.check(t, cognito.Issuer(), access, "acme", []tokenCase{
		{"the other client", changes{"client_id": "617jkna9pqeg8rmgtg9uv4e6j4"}, nil},
		{"no trigger", changes{"tenant_id": nil}, tenant.ErrForbidden},
		{"a custom attribute names one", changes{"tenant_id": nil, "custom:tenant_id": "acme"}, tenant.ErrForbidden},
		{"another client", changes{"client_id": "1example23456789"}, tenant.ErrInvalid},
		{"no client", changes{"client_id": nil}, tenant.ErrInvalid},
		{"no token_use", changes{"token_use": nil}, tenant.ErrInvalid},
		{"for another resource", changes{"aud": "https://other.example.com"}, tenant.ErrInvalid},
		{"another pool", changes{"iss": "https://cognito-idp.us-west-2.amazonaws.com/us-west-2_other"}, tenant.ErrInvalid},
	})

	id := documented(`{
		"sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		"aud": "57cbishk4j24pabc1234567890",
		"email_verified": true,
		"token_use": "id",
		"auth_time": 1500009400,
		"iss": "https://cognito-idp.us-west-2.amazonaws.com/us-west-2_example",
		"cognito:username": "janedoe",
		"exp": 1500013000,
		"given_name": "Jane",
		"iat": 1500009400,
		"email": "janedoe@example.com",
		"jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		"origin_jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		"custom:tenant_id": "acme",
		"tenant_id": "acme"
	}`)
	v.checkRefused(t, cognito.Issuer(), "ID token", id)
	v.checkRefused(t, cognito.Issuer(), "ID token of a confused trigger", access.with(changes{"token_use": "id"}))

	t.Run("audience of a resource", func(t *testing.T) {
		issuer := cognito.Issuer()
		issuer.Audience, issuer.AudienceClaim = "https://orders.example.com", ""
		v.check(t, issuer, access.with(changes{"aud": "https://orders.example.com"}), "acme", []tokenCase{
			{"bound to none", changes{"aud": nil}, tenant.ErrInvalid},
		})
		v.checkRefused(t, issuer, "ID token", id.with(changes{"aud": "https://orders.example.com"}))
	})
	t.Run("groups", func(t *testing.T) {
		issuer := cognito.Issuer()
		issuer.TenantClaim, issuer.TenantPrefix = []string{"cognito:groups"}, "tenant:"
		issuer.TenantSelect = jwttenant.OnlyTenant
		v.check(t, issuer, access.with(changes{"cognito:groups": []string{"admin", "tenant:acme"}}), "acme", []tokenCase{
			{"no tenant's group", changes{"cognito:groups": []string{"admin", "acme"}}, tenant.ErrForbidden},
			{"two tenants' groups", changes{"cognito:groups": []string{"tenant:acme", "tenant:evil"}}, tenant.ErrForbidden},
		})
	})
}

func TestCognito_UpdatedIssuer(t *testing.T) {
	const url = "https://issuer-cognito-idp.us-gov-west-1.amazonaws.com/us-gov-west-1_aB9"
	v := newVendor(t, url+"/.well-known/jwks.json", rsaKey())
	issuer := provider.Cognito{
		PoolID: "us-gov-west-1_aB9", ClientIDs: []string{"57cbishk4j24pabc1234567890"}, UpdatedIssuer: true,
		TenantClaim: "org", Keys: v.config,
	}.Issuer()
	access := documented(`{
		"sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		"token_use": "access",
		"iss": "https://issuer-cognito-idp.us-gov-west-1.amazonaws.com/us-gov-west-1_aB9",
		"exp": 1562194124,
		"iat": 1562190524,
		"client_id": "57cbishk4j24pabc1234567890",
		"org": "acme"
	}`)
	v.check(t, issuer, access, "acme", []tokenCase{
		{"original issuer", changes{
			"iss": "https://cognito-idp.us-gov-west-1.amazonaws.com/us-gov-west-1_aB9",
		}, tenant.ErrInvalid},
	})
}
