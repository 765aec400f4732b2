package tenant

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
)

// Resolver finds out who asks, from what the caller cannot forge. It is called once a request, concurrently.
//
// An error tells the gate what to answer; wrap the sentinel that fits (fmt.Errorf("%w: %w", tenant.ErrInvalid, cause)).
// The client sees a fixed text for each; the error itself goes to the gate's Observe hook only. It must not contain
// the credential.
//
// What else a resolver has, the gate uses:
//
//   - Challenge() string, the scheme to name in WWW-Authenticate; "Bearer" where none has it.
//   - Stats() ResolverStats and IgnoredTierClaims() uint64, for the metrics.
//   - Unwrap() []Resolver, the others that it asks, as [First] and [Subdomain] do: else it hides what they have.
type Resolver interface {
	Resolve(r *http.Request) (Tenant, error)
}

// The errors of a [Resolver]. Any other error is the service's own fault: 500.
var (
	// ErrNoCredential: the request carries no credential of the resolver's kind. 401 with a bare challenge.
	ErrNoCredential = errors.New("tenant: no credential")
	// ErrMalformed: the request is not well-formed, for example two Authorization headers. 400.
	ErrMalformed = errors.New("tenant: malformed request")
	// ErrInvalid: there is a credential, and it is not good. 401 invalid_token, whatever the cause.
	ErrInvalid = errors.New("tenant: invalid credential")
	// ErrForbidden: the credential is good, but names no usable tenant, or another than the request is for. 403.
	ErrForbidden = errors.New("tenant: forbidden")
	// ErrUnavailable: the credential cannot be judged now. 503 with Retry-After; an error that has a method
	// RetryAfter() time.Duration says how long.
	ErrUnavailable = errors.New("tenant: resolver unavailable")
)

// First returns a resolver that asks each of resolvers in turn, and the next one only where the request carries no
// credential for this one ([ErrNoCredential]). A credential that is present but bad is final: it is never a reason to
// try a weaker one. Where a request carries several, the first that a resolver knows decides, and the others are not
// looked at. Without resolvers every request is without credential.
//
// What would turn a check off panics: a nil resolver, and [Anonymous] before another resolver.
func First(resolvers ...Resolver) Resolver {
	if i := slices.IndexFunc(resolvers, isNil); i >= 0 {
		panic(fmt.Sprintf("tenant: First: resolver %d is nil", i))
	}
	if i := slices.IndexFunc(resolvers, admitsAnybody); i >= 0 && i < len(resolvers)-1 {
		panic(fmt.Sprintf("tenant: First: resolver %d is Anonymous, and not the last", i))
	}
	return first(slices.Clone(resolvers))
}

// isNil reports whether there is nothing in r, or a nil pointer, as from a constructor whose error nobody looked at.
func isNil(r Resolver) bool {
	v := reflect.ValueOf(r)
	return r == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

type first []Resolver

func (f first) Unwrap() []Resolver { return slices.Clone(f) }

func (f first) Resolve(r *http.Request) (Tenant, error) {
	for _, next := range f {
		t, err := next.Resolve(r)
		if !errors.Is(err, ErrNoCredential) {
			return t, err
		}
	}
	return Tenant{}, ErrNoCredential
}
