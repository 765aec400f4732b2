package provider

import (
	"cmp"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// Supabase is a project of Supabase that signs with asymmetric keys (JWT signing keys). The tenant of an access token is
// in its app_metadata, which only the project's secret key can write; not in user_metadata, which users can.
//
// aud is "authenticated" in the access tokens of all users, and says nothing about a service: a token of the project is
// good for every service that trusts the project. Refused are the tokens that other people's applications get from the
// project's OAuth server, which have client_id, the ID tokens of that server, whose aud is a client, and whatever the
// legacy secret signed, such as the anon and service_role keys.
type Supabase struct {
	// Domain is the project's host: "abcdefghijklmnopqrst.supabase.co", or its custom domain where tokens have that in iss.
	Domain string
	// TenantKey is the name in app_metadata. Empty: "tenant_id".
	TenantKey string
	// Keys says how keys are fetched; zero is good.
	Keys jwttenant.JWKSConfig
}

// Issuer returns what jwttenant needs to know. To accept applications of the project's OAuth server add their IDs to
// RequiredClaims["client_id"].
func (s Supabase) Issuer() jwttenant.Issuer {
	url := "https://" + s.Domain + "/auth/v1"
	return jwttenant.Issuer{
		Issuer:   url,
		Audience: "authenticated",
		RequiredClaims: map[string][]string{
			"client_id": {""}, // is missing
			"role":      {"authenticated"},
		},
		Algorithms:  []string{"ES256", "RS256"},
		Keys:        jwttenant.JWKS(url+"/.well-known/jwks.json", s.Keys),
		TenantClaim: []string{"app_metadata", cmp.Or(s.TenantKey, "tenant_id")},
		Err:         wrong(hostName.check("Supabase.Domain", s.Domain)),
	}
}
