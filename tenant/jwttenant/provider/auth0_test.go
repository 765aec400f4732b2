package provider_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

func TestAuth0_AcceptsAccessTokensOnly(t *testing.T) {
	v := newVendor(t, "https://exampleco.auth0.com/.well-known/jwks.json", rsaKey())
	issuer := provider.Auth0{Domain: "exampleco.auth0.com", Audience: "https://example-api/", Keys: v.config}.Issuer()

	access := documented(`{
		"iss": "https://exampleco.auth0.com/",
		"sub": "auth0|602c0dcab993d10073daf680",
		"aud": ["https://example-api/", "https://exampleco.auth0.com/userinfo"],
		"iat": 1616499255,
		"exp": 1616585655,
		"azp": "ENDmmAJsbwI1hOG1KPJddQ8LHjV6kLkV",
		"scope": "openid profile email",
		"org_id": "org_9ybsU1dN2dKfDkBi"
	}`)
	v.check(t, issuer, access, "org_9ybsU1dN2dKfDkBi", []tokenCase{
		{"API is the only audience", changes{"aud": "https://example-api/"}, nil},
		{"with the organization's name", changes{"org_name": "exampleco"}, nil},
		{"no organization", changes{"org_id": nil}, tenant.ErrForbidden},
		{"only the organization's name", changes{"org_id": nil, "org_name": "exampleco"}, tenant.ErrForbidden},
		{"user_metadata names one", changes{
			"org_id": nil, "user_metadata": changes{"org_id": "org_other"},
		}, tenant.ErrForbidden},
		{"another API", changes{
			"aud": []string{"https://other-api/", "https://exampleco.auth0.com/userinfo"},
		}, tenant.ErrInvalid},
		{"another tenant of Auth0", changes{"iss": "https://other.auth0.com/"}, tenant.ErrInvalid},
		{"no slash behind the issuer", changes{"iss": "https://exampleco.auth0.com"}, tenant.ErrInvalid},
	})

	id := documented(`{
		"https://marketplace/roles": ["marketplace-administrator"],
		"https://namespace.exampleco.com": "my custom claim",
		"nickname": "firstName.lastName",
		"name": "firstName.lastName@email.com",
		"picture": "https://s.gravatar.com/avatar/638",
		"updated_at": "2021-03-23T11:34:14.566z",
		"email": "username@exampleco.com",
		"email_verified": true,
		"iss": "https://exampleco.auth0.com/",
		"sub": "auth0|602c0dcab993d10073daf680",
		"aud": "ENDmmAJsbwI1hOG1KPJddQ8LHjV6kLkV",
		"iat": 1616499255,
		"exp": 1616535255,
		"org_id": "org_9ybsU1dN2dKfDkBi"
	}`)
	v.checkRefused(t, issuer, "ID token", id)
}

// An API may be switched to the profile of RFC 9068.
func TestAuth0_RFC9068(t *testing.T) {
	v := newVendor(t, "https://my-domain.auth0.com/.well-known/jwks.json", rsaKey())
	issuer := provider.Auth0{
		Domain: "my-domain.auth0.com", Audience: "https://example.com/health-api", Keys: v.config,
	}.Issuer()
	issuer.RFC9068 = true

	access := documented(`{
		"iss": "https://my-domain.auth0.com/",
		"sub": "auth0|123456",
		"aud": ["https://example.com/health-api", "https://my-domain.auth0.com/userinfo"],
		"client_id": "my_client_id",
		"exp": 1311281970,
		"iat": 1311280970,
		"jti": "73WakrfVbNJBaAmhQtEeDv",
		"scope": "openid profile read:patients read:admin",
		"my_custom_claim": "my_custom_value",
		"org_id": "org_9ybsU1dN2dKfDkBi"
	}`)
	for typ, want := range map[string]error{"at+jwt": nil, "JWT": tenant.ErrInvalid} {
		if got, err := open(t, issuer).Resolve(v.request(changes{"typ": typ}, access)); !matches(err, want) {
			t.Errorf("typ %q: tenant %q, error %v, want %v", typ, got.ID, err, want)
		}
	}
}
