package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// errSecret is a cause that no client may see.
var errSecret = errors.New("key of kid-17 is stale: eyJhbGciOi")

// backIn is an unavailable resolver's error that says for how long.
type backIn time.Duration

func (backIn) Error() string               { return "back soon" }
func (b backIn) RetryAfter() time.Duration { return time.Duration(b) }

func TestTenant_AnswersEachErrorOfTheResolver(t *testing.T) {
	for _, c := range []struct {
		name                        string
		err                         error
		id                          string
		status                      int
		challenge, retryAfter, want string
	}{
		{"no credential", tenant.ErrNoCredential, "", 401, `Bearer`, "", "unauthenticated"},
		{"malformed", fmt.Errorf("%w: %w", tenant.ErrMalformed, errSecret), "", 400, `Bearer error="invalid_request"`, "", "unauthenticated"},
		{"invalid", fmt.Errorf("%w: %w", tenant.ErrInvalid, errSecret), "", 401, `Bearer error="invalid_token"`, "", "unauthenticated"},
		{"forbidden", fmt.Errorf("%w: %w", tenant.ErrForbidden, errSecret), "", 403, `Bearer error="insufficient_scope"`, "", "forbidden"},
		{"unavailable", fmt.Errorf("%w: %w", tenant.ErrUnavailable, errSecret), "", 503, "", "1", "refused"},
		{"unavailable for 1.2 s", fmt.Errorf("%w: %w", tenant.ErrUnavailable, backIn(1200*time.Millisecond)), "", 503, "", "2", "refused"},
		{"unavailable for no time", fmt.Errorf("%w: %w", tenant.ErrUnavailable, backIn(-5)), "", 503, "", "1", "refused"},
		{"any other", errSecret, "", 500, "", "", "failed"},
		{"invalid ID", nil, "../x\u202e", 403, `Bearer error="insufficient_scope"`, "", "forbidden"},
		{"empty ID", nil, "", 403, `Bearer error="insufficient_scope"`, "", "forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen outcomes
			g := newGate(t, middleware.Config{
				Resolver: resolverFunc(func(*http.Request) (tenant.Tenant, error) { return tenant.Tenant{ID: c.id}, c.err }),
				Observe:  seen.observe,
			})
			w := get(g.Handler(http.NotFoundHandler()), "", "/")
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			for header, want := range map[string]string{
				"WWW-Authenticate": c.challenge, "Retry-After": c.retryAfter, "Cache-Control": "no-store", "X-RateLimit-Limit": "",
			} {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
			problemOf(t, w)
			for _, text := range []string{"kid-17", "eyJ", "../x"} {
				if strings.Contains(w.Body.String(), text) {
					t.Errorf("the body tells too much: %s", w.Body)
				}
			}
			out := seen.only(t)
			if string(out.Result) != c.want || out.Status != c.status || out.Tenant.ID != "" {
				t.Errorf("observed %q, status %d, tenant %q", out.Result, out.Status, out.Tenant.ID)
			}
			if c.err != nil && !errors.Is(out.Err, c.err) {
				t.Errorf("observed error %v, want %v", out.Err, c.err)
			}
		})
	}
}

func TestTenant_ClientThatLeavesMeanwhileGetsNothing(t *testing.T) {
	var seen outcomes
	g := newGate(t, middleware.Config{
		Resolver: resolverFunc(func(r *http.Request) (tenant.Tenant, error) { return tenant.Tenant{}, r.Context().Err() }),
		Observe:  seen.observe,
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := do(g.Handler(ok), request("a", "/").WithContext(ctx))
	if w.Body.Len() != 0 || len(w.Header()) != 0 || seen.only(t).Result != middleware.Cancelled {
		t.Errorf("wrote %q with %v, observed %v", w.Body, w.Header(), seen.only(t).Result)
	}
}

func TestPieces_FailClosedWithoutTenant(t *testing.T) {
	g := newGate(t, middleware.Config{
		Resolver: named, Quota: newLimiter(t, quota.Config{}), Slots: newPool(t, fairslots.Config{Capacity: 1}),
	})
	own := newGate(t, middleware.Config{})
	for name, h := range map[string]http.Handler{
		"Quota": g.Quota(ok), "Slots": g.Slots(ok), "Quota, Slots": g.Quota(g.Slots(ok)), "wrong order": g.Slots(g.Tenant(ok)),
		"no resolver": own.Handler(ok),
	} {
		if w := get(h, "a", "/"); w.Code != http.StatusInternalServerError {
			t.Errorf("%s: status %d, want 500", name, w.Code)
		}
	}
}

func TestPieces_TakeTheTenantOfAnotherMiddleware(t *testing.T) {
	tiers := plans(t)
	g := newGate(t, middleware.Config{
		Quota: newLimiter(t, quota.Config{Tiers: tiers}), Slots: newPool(t, fairslots.Config{Capacity: 1, Tiers: tiers}),
	})
	var got tenant.Tenant
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = tenant.FromContext(r.Context()) })
	for name, chain := range map[string]http.Handler{
		"Handler": g.Handler(h), "Quota and Slots": g.Quota(g.Slots(h)), "Slots": g.Slots(h), "Tenant": g.Tenant(h),
	} {
		got = tenant.Tenant{}
		r := request("", "/")
		w := do(chain, r.WithContext(tenant.NewContext(r.Context(), tenant.Tenant{ID: "acme", Subject: "ann"})))
		if want := (tenant.Tenant{ID: "acme", Tier: "free", Subject: "ann"}); w.Code != 200 || got != want {
			t.Errorf("%s: status %d, the handler saw %#v of %q", name, w.Code, got, got.Subject)
		}
	}
	r := request("", "/")
	r = r.WithContext(tenant.NewContext(r.Context(), tenant.Tenant{ID: "_no"}))
	if w := do(g.Handler(ok), r); w.Code != 500 {
		t.Errorf("a tenant without a valid ID: status %d, want 500", w.Code)
	}
}

func TestTenant_HandlerSeesSubjectAndClaims(t *testing.T) {
	asserted := tenant.Tenant{ID: "acme", Tier: "pro", TierAsOf: time.Unix(7, 0), Subject: "ann", Claims: `{"a":1}`}
	g := newGate(t, middleware.Config{
		Resolver: resolverFunc(func(*http.Request) (tenant.Tenant, error) { return asserted, nil }),
		Quota:    newLimiter(t, quota.Config{}),
	})
	var got tenant.Tenant
	get(g.Handler(inside(func(ctx context.Context) { got, _ = tenant.FromContext(ctx) })), "", "/")
	if got != asserted {
		t.Errorf("the handler saw %#v, subject %q, claims %q", got, got.Subject, got.Claims)
	}
}

func TestTierOf_ReplacesTheClaim(t *testing.T) {
	for _, c := range []struct{ name, claim, answer, want string }{
		{"another tier", "free", "pro", "pro"},
		{"asserts nothing", "pro", "", "pro"},
		{"unknown tier", "pro", "gold", "free"},
		{"no claim", "", "pro", "pro"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			g := newGate(t, middleware.Config{
				Resolver: named, Quota: newLimiter(t, quota.Config{}),
				TierOf: func(context.Context, tenant.Tenant) (string, error) { asked++; return c.answer, nil },
			})
			h := g.Handler(g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				who, _ := tenant.FromContext(r.Context())
				fmt.Fprint(w, who.Tier)
			})))
			if w := get(h, "acme "+c.claim, "/"); w.Body.String() != c.want || asked != 1 {
				t.Errorf("the handler saw %q, want %q; asked %d times", w.Body, c.want, asked)
			}
		})
	}
}

func TestTierOf_FailureKeepsWhatWasKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := false
		var seen outcomes
		g := newGate(t, middleware.Config{
			Resolver: resolverFunc(func(*http.Request) (tenant.Tenant, error) {
				return tenant.Tenant{ID: "acme", Tier: "free", TierAsOf: time.Now().Add(time.Hour)}, nil // a claim later than any lookup
			}),
			Slots: newPool(t, fairslots.Config{Capacity: 9}), Observe: seen.observe,
			TierOf: func(context.Context, tenant.Tenant) (string, error) {
				if fails {
					return "", errBroken
				}
				return "pro", nil
			},
		})
		for range 2 {
			get(g.Handler(ok), "", "/")
			fails = true
		}
		for i, out := range seen.list() {
			if out.Tenant.Tier != "pro" || out.Result != middleware.Admitted {
				t.Errorf("request %d: %s on %q, want pro", i, out.Result, out.Tenant.Tier)
			}
		}
		if err := seen.list()[1].Err; !errors.Is(err, errBroken) {
			t.Errorf("observed %v", err)
		}
		if got := value(t, g, "tenantgate_tier_lookup_failures_total"); got != 1 {
			t.Errorf("%v failures counted, want 1", got)
		}
	})
}
