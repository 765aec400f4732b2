package provider

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// EntraID is Microsoft Entra ID, once Azure AD, with access tokens of version 2.0. The tenant of a token is the directory
// that the user or the application signed in to: tid, a GUID. A directory has guests, who belong to another one: their
// tokens are of its tenant too, and have the other directory in idp.
//
// Anybody may have a directory, so those that are accepted are listed. An ID token for the same app registration has its
// ID in aud too, but not azp, which is therefore required. Neither email, upn nor preferred_username is used: who runs a
// directory writes there what he likes.
type EntraID struct {
	// ClientID is the application ID of this service's app registration, a GUID, whose manifest has
	// requestedAccessTokenVersion 2 (in api). Tokens of version 1.0 are another issuer's, sts.windows.net, and are refused.
	ClientID string
	// Directories are the IDs of the directories whose tokens are accepted. At least one; not that of all personal
	// accounts, which is nobody's tenant.
	Directories []string
	// Clients are the application IDs, in azp, that may ask for tokens. Nil: all; then handlers should look for a scope or
	// a role (scp, roles) of the token, because any application of a directory can have one without either. An empty list
	// is an error.
	Clients []string
	// Host is the login host of a national cloud: "login.microsoftonline.us". Empty: "login.microsoftonline.com".
	Host string
	// Keys says how keys are fetched; zero is good.
	Keys jwttenant.JWKSConfig
}

// personalAccounts is the directory of all Microsoft accounts.
const personalAccounts = "9188040d-6c67-4c5b-b112-36a304b66dad"

// Issuer returns what jwttenant needs to know.
func (e EntraID) Issuer() jwttenant.Issuer {
	errs := []error{
		guid.check("EntraID.ClientID", e.ClientID),
		guid.checkAll("EntraID.Directories", e.Directories),
	}
	if slices.Contains(e.Directories, personalAccounts) {
		errs = append(errs, errors.New("EntraID.Directories has the one of all personal accounts"))
	}
	if e.Clients != nil {
		errs = append(errs, guid.checkAll("EntraID.Clients", e.Clients))
	}
	e.Host = cmp.Or(e.Host, "login.microsoftonline.com")
	errs = append(errs, hostName.check("EntraID.Host", e.Host))
	return jwttenant.Issuer{
		Issuer:         "https://" + e.Host + "/{tid}/v2.0",
		IssuerValues:   slices.Clone(e.Directories),
		Audience:       e.ClientID,
		RequiredClaims: map[string][]string{"azp": slices.Clone(e.Clients)},
		Algorithms:     []string{"RS256"},
		Keys:           jwttenant.JWKS("https://"+e.Host+"/common/discovery/v2.0/keys", e.Keys),
		TenantClaim:    []string{"tid"},
		Err:            wrong(errs...),
	}
}
