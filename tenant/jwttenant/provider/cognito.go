package provider

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// Cognito is a user pool of Amazon Cognito. The tenant of an access token is in a claim that the pool's pre token
// generation trigger adds.
//
// The trigger should not take it from a custom attribute (custom:...) that app clients may write: their users can then
// set it themselves. Groups cannot be set by users; for a tenant in a group's name, such as "tenant:acme", change what
// Issuer returns: TenantClaim to cognito:groups, TenantPrefix to "tenant:", TenantSelect to [jwttenant.OnlyTenant].
//
// Access tokens have no aud but client_id, ID tokens aud and the users' attributes. They are told apart by token_use.
type Cognito struct {
	// PoolID is the user pool's: "eu-west-1_aBcDeFgHi". It begins with the region.
	PoolID string
	// ClientIDs are the app clients whose tokens are accepted. At least one.
	ClientIDs []string
	// TenantClaim is the claim that the trigger adds. Empty: "tenant_id".
	TenantClaim string
	// UpdatedIssuer is for pools whose issuer type is UPDATED: their iss begins with https://issuer-cognito-idp.
	UpdatedIssuer bool
	// Keys says how keys are fetched; zero is good.
	Keys jwttenant.JWKSConfig
}

var (
	cognitoPool = form{
		regexp.MustCompile(`^[a-z]+(-[a-z]+)+-[0-9]+_[A-Za-z0-9]+$`),
		"a user pool's ID such as eu-west-1_aBcDeFgHi",
	}
	cognitoClient = form{regexp.MustCompile(`^[A-Za-z0-9_+]+$`), "an app client's ID"}
)

// Issuer returns what jwttenant needs to know. For access tokens with aud, which are bound to a resource, set Audience in
// it to that, and AudienceClaim to "".
func (c Cognito) Issuer() jwttenant.Issuer {
	var attribute error
	if strings.HasPrefix(c.TenantClaim, "custom:") {
		attribute = errors.New("Cognito.TenantClaim is a custom attribute, which users may be able to write")
	}
	host := "cognito-idp."
	if c.UpdatedIssuer {
		host = "issuer-cognito-idp."
	}
	region, _, _ := strings.Cut(c.PoolID, "_")
	url := "https://" + host + region + ".amazonaws.com/" + c.PoolID
	return jwttenant.Issuer{
		Issuer:        url,
		Audience:      url,
		AudienceClaim: "iss", // where there is no aud, who trusts the pool is meant
		RequiredClaims: map[string][]string{
			"client_id": slices.Clone(c.ClientIDs),
			"token_use": {"access"},
		},
		Algorithms:  []string{"RS256"},
		Keys:        jwttenant.JWKS(url+"/.well-known/jwks.json", c.Keys),
		TenantClaim: []string{cmp.Or(c.TenantClaim, "tenant_id")},
		Err: wrong(attribute,
			cognitoPool.check("Cognito.PoolID", c.PoolID), cognitoClient.checkAll("Cognito.ClientIDs", c.ClientIDs)),
	}
}
