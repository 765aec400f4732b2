package provider

import (
	"slices"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// Clerk is an instance of Clerk. The tenant of a session token is the active organization: the claim o.id of version 2,
// such as "org_123". For version 1 set TenantClaim to org_id in what Issuer returns.
//
// Clerk's session tokens have no aud: they are for whatever trusts the instance. They have azp, which says on which site
// the user is. Tokens of JWT templates have it too, and claims of any name, so sid is required, which only session tokens
// have. A session that has not finished its tasks (sts is "pending"), such as setting up a second factor, is refused.
type Clerk struct {
	// Domain is the host of the Frontend API URL: "clerk.example.com", in development "your-app.clerk.accounts.dev".
	Domain string
	// Origins are the sites whose users are accepted, as azp has them: "https://app.example.com". At least one.
	Origins []string
	// Keys says how keys are fetched; zero is good.
	Keys jwttenant.JWKSConfig
}

// Issuer returns what jwttenant needs to know. For session tokens that are customized to have aud set Audience in it to
// that, and AudienceClaim to "". For those of native applications, which have no azp, set aud, and add "" to
// RequiredClaims["azp"].
func (c Clerk) Issuer() jwttenant.Issuer {
	url := "https://" + c.Domain
	return jwttenant.Issuer{
		Issuer:        url,
		Audience:      url,
		AudienceClaim: "iss", // where there is no aud, who trusts the instance is meant
		RequiredClaims: map[string][]string{
			"azp": slices.Clone(c.Origins),
			"sid": nil,
			"sts": {"", "active"},
		},
		Algorithms:  []string{"RS256"},
		Keys:        jwttenant.JWKS(url+"/.well-known/jwks.json", c.Keys),
		TenantClaim: []string{"o", "id"},
		Err:         wrong(hostName.check("Clerk.Domain", c.Domain), origin.checkAll("Clerk.Origins", c.Origins)),
	}
}
