package provider

import (
	"errors"
	"regexp"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// Auth0 is a tenant of Auth0. The tenant of a token is its organization: org_id, such as "org_9ybsU1dN2dKfDkBi".
//
// An ID token has the application's client ID in aud, never an API's identifier, so it is refused. org_name is not used:
// it can be changed.
type Auth0 struct {
	// Domain is the host that tokens are asked for, "exampleco.eu.auth0.com" or a custom one. Where applications use both,
	// each is an issuer of its own.
	Domain string
	// Audience is the identifier of the API at Auth0. Applications must ask for it as audience: without one they get an
	// opaque token, and that is refused.
	Audience string
	// Keys says how keys are fetched; zero is good.
	Keys jwttenant.JWKSConfig
}

// auth0Client matches the client IDs of applications.
var auth0Client = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)

// Issuer returns what jwttenant needs to know. For an API with the RFC 9068 profile set RFC9068 in it.
func (a Auth0) Issuer() jwttenant.Issuer {
	var client error
	if auth0Client.MatchString(a.Audience) {
		client = errors.New("Auth0.Audience is a client ID, as ID tokens have it, and not an API's identifier")
	}
	url := "https://" + a.Domain + "/"
	return jwttenant.Issuer{
		Issuer:      url,
		Audience:    a.Audience,
		Algorithms:  []string{"RS256"},
		Keys:        jwttenant.JWKS(url+".well-known/jwks.json", a.Keys),
		TenantClaim: []string{"org_id"},
		Err:         wrong(hostName.check("Auth0.Domain", a.Domain), client),
	}
}
