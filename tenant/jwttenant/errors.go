package jwttenant

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// The causes of a refusal are fixed texts, made once: nothing out of a token can get into them, and refusing costs no
// memory.
var (
	errNoCredential = fmt.Errorf("%w: no bearer token", tenant.ErrNoCredential)

	errTwoHeaders    = malformed("several Authorization headers")
	errNotOneToken   = malformed("not exactly one token after Bearer")
	errTwoCookies    = malformed("several cookies with a token")
	errTwoTransports = malformed("a token in the header and another in the query")

	errTooLong   = invalid("too long")
	errSegments  = invalid("not three parts in base64url")
	errJSON      = invalid("header or claims are not a JSON object in UTF-8")
	errDuplicate = invalid("a name occurs twice in one JSON object")
	errTooDeep   = invalid("JSON nested too deep")
	errNumber    = invalid("a number that is too long, too large, or too small but for 0")

	errHeader    = invalid("alg, kid or typ of the header is not a proper text")
	errCritical  = invalid("crit names extensions, and none are supported")
	errNested    = invalid("cty says that there is a token in the token, and those are not supported")
	errIssuer    = invalid("iss is none of the issuers")
	errAlgorithm = invalid("alg is none of Issuer.Algorithms")
	errType      = invalid("typ is not that of an access token")

	errTime      = invalid("exp is missing, or exp, nbf or iat is not a number of seconds")
	errExpired   = invalid("expired")
	errTooEarly  = invalid("nbf or iat is in the future")
	errAudience  = invalid("aud does not name this service")
	errNotText   = invalid("sub or jti is not a text")
	errProfile   = invalid("a claim that RFC 9068 requires is missing")
	errKeyID     = invalid("unknown key ID")
	errKey       = invalid("the key does not suit alg")
	errSignature = invalid("wrong signature")
	errDirectory = invalid("iss and the claim in its template disagree")
	errRevoked   = invalid("revoked")

	errNoClaim     = forbidden("there is no tenant claim")
	errNotID       = forbidden("the tenant claim is a text that is not a tenant ID, or one without TenantPrefix")
	errNotOneText  = forbidden("the tenant claim is not a text (see TenantInteger and TenantSelect)")
	errNoChoice    = forbidden("the tenant claim names no tenant that the issuer may speak for")
	errNotChosen   = forbidden("none of the token's tenants is the request's")
	errOtherTenant = forbidden("the issuer may not speak for this tenant")
)

// foreign returns an error of the user's own as a cause for [tenant.ErrUnavailable]. It must not match another answer too:
// with ErrNoCredential, tenant.First would pass a credential over that could not be judged.
func foreign(err error) error {
	for _, answer := range []error{tenant.ErrNoCredential, tenant.ErrMalformed, tenant.ErrInvalid, tenant.ErrForbidden} {
		if errors.Is(err, answer) {
			return errors.New(err.Error())
		}
	}
	return err
}

func malformed(why string) error { return fmt.Errorf("%w: %s", tenant.ErrMalformed, why) }
func invalid(why string) error   { return fmt.Errorf("%w: %s", tenant.ErrInvalid, why) }
func forbidden(why string) error { return fmt.Errorf("%w: %s", tenant.ErrForbidden, why) }

var (
	// errBusy is the answer to a request for which there is no time.
	errBusy error = unavailable{"too many tokens to verify", time.Second}
	// errKeyGone is the answer to one whose key was taken back while it waited. It may be signed by a new one of that ID.
	errKeyGone error = unavailable{"the key was taken back a moment ago", time.Second}
	// errKeysClosed is the answer once the keys are fetched no more.
	errKeysClosed error = unavailable{"the resolver was closed", time.Second}
)

// unavailable is an error for which a client should come again later.
type unavailable struct {
	why   string
	after time.Duration
}

func (u unavailable) Error() string { return tenant.ErrUnavailable.Error() + ": " + u.why }
func (u unavailable) Unwrap() error { return tenant.ErrUnavailable }

// RetryAfter is how long a client should wait.
func (u unavailable) RetryAfter() time.Duration { return u.after }
