package middleware

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

const (
	defaultTopTenants = 50
	maxRetrySpread    = time.Hour
)

// Slots is what a [Gate] needs of a pool of slots. *fairslots.Pool and *bulkhead.Bulkhead are such pools.
//
// An error of Acquire that is a *[tenant.Refusal] is answered by its reason; one that matches context.Canceled means
// that the client left; context.DeadlineExceeded is a refusal for capacity; any other is the service's own fault.
//
// What else a pool has, the gate uses:
//
//   - TierOf(tenant.Tenant) string, the name of the tier that applies; Tiers() *tenant.Tiers, its catalogue.
//   - AcquireN(ctx context.Context, t tenant.Tenant, n int) (release func(), err error) for Config.Weights.
//   - AcquireStream(tenant.Tenant) (release func(), err error) for [Stream].
//   - Drain(context.Context) error for [Gate.Drain], Close() for [Gate.Close].
type Slots interface {
	Acquire(ctx context.Context, t tenant.Tenant) (release func(), err error)
	Stats() tenant.SlotStats
}

// Config configures a [Gate]. Its functions are called concurrently, and with no lock held.
type Config struct {
	// Resolver finds out who asks. Nil: the request's context must carry the tenant already, put there by your own
	// middleware through [tenant.NewContext]; where it carries none, the answer is 500.
	Resolver tenant.Resolver

	// Quota decides how often. Nil: no quota.
	Quota *quota.Limiter

	// Slots decides how many at once. Nil: no slots.
	Slots Slots

	// Operation names what the request asks for, to look up its cost and its weight: [ChiPattern], [MuxPattern] or your
	// own. It is asked once, and the request's context carries the tenant. Nil: everything is [quota.DefaultOperation].
	Operation func(*http.Request) string

	// Weights are how many slots operations take, 1 or more; as many as the tenant may ever hold where that is fewer.
	// What is not listed takes Weights[quota.DefaultOperation], 1 where that is unset. A call within a request that runs
	// on the request's slots takes no others, whatever it weighs. [CheckCosts] checks them. Nil: each takes 1.
	Weights map[string]int

	// TierOf asks your own store for the tenant's tier, once a request. Its answer replaces the tier that the credential
	// claims; an empty one leaves that be. Where it fails, what was known of the tenant before stays, and the claim
	// counts only where nothing was. Nil: the claim is all there is.
	TierOf func(context.Context, tenant.Tenant) (string, error)

	// Skip exempts a request from the whole gate: it passes without a tenant, and is only counted. Nil: nothing is exempt.
	//
	// It is asked by the outermost piece of a request, and once more only where a skipped request meets a piece that
	// finds out who asks: that may be a call by the handler, for something that is not exempt.
	Skip func(*http.Request) bool

	// SkipPreflights also exempts CORS preflights: OPTIONS with the Origin and Access-Control-Request-Method headers. Set
	// it where a CORS middleware inside the gate answers them; better put that outside.
	SkipPreflights bool

	// Refuse writes the answer to a request that quota or slots turned away, status and body; Retry-After, Cache-Control
	// and the rate headers are set already. The refusal's RetryAfter is 0 where waiting cannot help. Nil: a
	// problem+json body, see the package comment.
	Refuse func(http.ResponseWriter, *http.Request, *tenant.Refusal)

	// Observe is told how each request went, once, when it is done, by its outermost piece and with the request as that
	// piece got it; also when the handler panics. Inside of an http.TimeoutHandler that may be after the answer was sent:
	// what it shares with code outside of that needs a lock, or is better logged here. Nil: nobody is.
	Observe func(*http.Request, Outcome)

	// RateHeaders chooses the headers that tell a client what it has left. Zero: all.
	RateHeaders RateHeaders

	// RetrySpread adds a random part, from nothing to this much, to Retry-After, so that clients which were turned away
	// together do not come back together. At most an hour. 0: none.
	RetrySpread time.Duration

	// CapacityStatus and ClosingStatus are the statuses for [tenant.ReasonCapacity] and [tenant.ReasonClosing], 400 to
	// 599. 0: 503.
	CapacityStatus, ClosingStatus int

	// TopTenants is how many tenants have metrics of their own: the first so many that come. All others are counted
	// together as "__other__". 0: 50. Negative: none has.
	TopTenants int

	// Name is the label "gate" of every metric. Gates in one registry need different ones.
	Name string
}

// check returns every fault of c.
func (c *Config) check() error {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("middleware: "+field+" "+format, args...))
	}
	if c.Resolver != nil && isNil(c.Resolver) {
		fail("Resolver", "is a nil %T", c.Resolver)
	}
	if c.Slots != nil && isNil(c.Slots) {
		fail("Slots", "is a nil %T", c.Slots)
	}
	if c.RateHeaders&^(XRateLimit|Draft11|NoRateHeaders) != 0 {
		fail("RateHeaders", "is %b, want a combination of XRateLimit and Draft11, or NoRateHeaders", c.RateHeaders)
	}
	if c.RateHeaders&NoRateHeaders != 0 && c.RateHeaders != NoRateHeaders {
		fail("RateHeaders", "has NoRateHeaders beside others")
	}
	if c.RetrySpread < 0 || c.RetrySpread > maxRetrySpread {
		fail("RetrySpread", "is %v, want 0 to %v", c.RetrySpread, maxRetrySpread)
	}
	status := func(field string, n int) {
		if n != 0 && (n < 400 || n > 599) {
			fail(field, "is %d, want 400 to 599", n)
		}
	}
	status("CapacityStatus", c.CapacityStatus)
	status("ClosingStatus", c.ClosingStatus)
	if !utf8.ValidString(c.Name) {
		fail("Name", "is %q, want valid UTF-8", c.Name)
	}
	c.checkWeights(fail)
	return errors.Join(errs...)
}

// setDefaults fills in what is zero.
func (c *Config) setDefaults() {
	if c.RateHeaders == 0 {
		c.RateHeaders = XRateLimit | Draft11
	}
	if c.CapacityStatus == 0 {
		c.CapacityStatus = http.StatusServiceUnavailable
	}
	if c.ClosingStatus == 0 {
		c.ClosingStatus = http.StatusServiceUnavailable
	}
	if c.TopTenants == 0 {
		c.TopTenants = defaultTopTenants
	}
}

// isNil reports whether v is nil, or holds a nil pointer, function or the like.
func isNil(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return r.IsNil()
	}
	return false
}
