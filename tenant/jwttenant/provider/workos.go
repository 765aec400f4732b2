package provider

import (
	"regexp"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// WorkOS is an environment of WorkOS AuthKit. The tenant of a session's access token is the organization that the user
// signed in to: org_id, such as "org_01HRDMC6CM357W30QMHMQ96Q0S".
//
// These tokens have no aud, and the client ID in client_id. Where a JWT template adds aud, set Audience in what Issuer
// returns to that. Environments from before the middle of 2025 have the iss "https://api.workos.com", and those with a
// custom domain one with that: set Issuer there. Tokens of WorkOS Connect are another issuer's, the AuthKit domain's.
type WorkOS struct {
	// ClientID is that of the environment: "client_01HXYZ...".
	ClientID string
	// Keys says how keys are fetched; zero is good.
	Keys jwttenant.JWKSConfig
}

var workOSClient = form{regexp.MustCompile(`^client_[A-Za-z0-9]+$`), "a client ID, which begins with client_"}

// Issuer returns what jwttenant needs to know.
func (w WorkOS) Issuer() jwttenant.Issuer {
	return jwttenant.Issuer{
		Issuer:         "https://api.workos.com/user_management/" + w.ClientID,
		Audience:       w.ClientID,
		AudienceClaim:  "client_id",
		RequiredClaims: map[string][]string{"sid": nil},
		Algorithms:     []string{"RS256"},
		Keys:           jwttenant.JWKS("https://api.workos.com/sso/jwks/"+w.ClientID, w.Keys),
		TenantClaim:    []string{"org_id"},
		Err:            wrong(workOSClient.check("WorkOS.ClientID", w.ClientID)),
	}
}
