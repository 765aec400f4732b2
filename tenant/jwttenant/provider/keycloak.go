package provider

import (
	"errors"
	"regexp"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// Keycloak is a realm of Keycloak, a supported 26.x, with organizations switched on. The tenant of a token is the alias
// of the organization: the claim organization has it in a list or as the name in an object, as the mapper is set. An
// alias never changes, but once its organization is deleted it can be given again. It may have characters that no tenant
// ID has, and then the token is forbidden.
//
// The mapper must be Multivalued, as it is by default: if not, it writes a text, and does not check that the user is a
// member. A text is accepted nevertheless, because hardcoded claims are texts, as service accounts may have them.
//
// A token that names several organizations (scope organization:*) is forbidden; to choose by the request instead set
// TenantSelect in what Issuer returns.
//
// An ID token names the client in aud, which may be the name of this service where users log in to it. The claim typ
// tells them apart, which is "Bearer" in access tokens. Claims mapped from users' attributes are not used: users may be
// allowed to edit these.
type Keycloak struct {
	// Realm is the realm's address: "https://id.example.com/realms/example".
	Realm string
	// Audience is the client ID of this service. Tokens have it in aud only if the realm's clients have an audience mapper
	// for it, or it has roles that the user is given. "account", which is in nearly all tokens of a realm, is an error.
	Audience string
	// Keys says how keys are fetched; zero is good.
	Keys jwttenant.JWKSConfig
}

var realm = form{
	regexp.MustCompile(`^https?://[^/?#@{}\s]+(/[^?#{}\s]+)?/realms/[^/?#{}\s]+$`),
	"a realm's address such as https://id.example.com/realms/example, without a slash behind it",
}

// Issuer returns what jwttenant needs to know.
func (k Keycloak) Issuer() jwttenant.Issuer {
	var account error
	if k.Audience == "account" {
		account = errors.New("Keycloak.Audience is account, which is in nearly all tokens, and not this service's client ID")
	}
	return jwttenant.Issuer{
		Issuer:         k.Realm,
		Audience:       k.Audience,
		RequiredClaims: map[string][]string{"typ": {"Bearer"}},
		Algorithms:     []string{"RS256"},
		Keys:           jwttenant.JWKS(k.Realm+"/protocol/openid-connect/certs", k.Keys),
		TenantClaim:    []string{"organization"},
		TenantSelect:   jwttenant.OnlyTenant,
		Err:            wrong(realm.check("Keycloak.Realm", k.Realm), account),
	}
}
