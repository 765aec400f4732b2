package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/internal/sentinel"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sentinel.Watch(m)) }

// resolverFunc is a resolver.
type resolverFunc func(*http.Request) (tenant.Tenant, error)

func (f resolverFunc) Resolve(r *http.Request) (tenant.Tenant, error) { return f(r) }

// named resolves "Authorization: Name id" and "Name id tier", so that a test names the tenant in the request.
var named = resolverFunc(func(r *http.Request) (tenant.Tenant, error) {
	switch f := strings.Fields(r.Header.Get("Authorization")); len(f) {
	case 0:
		return tenant.Tenant{}, tenant.ErrNoCredential
	case 2:
		return tenant.Tenant{ID: f[1]}, nil
	default:
		return tenant.Tenant{ID: f[1], Tier: f[2], TierAsOf: time.Unix(1, 0)}, nil
	}
})

// request is a GET of path by a tenant, "id" or "id tier"; "": by nobody.
func request(who, path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if who != "" {
		r.Header.Set("Authorization", "Name "+who)
	}
	return r
}

// do has h answer r.
func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// get is do of a request.
func get(h http.Handler, who, path string) *httptest.ResponseRecorder {
	return do(h, request(who, path))
}

func problemOf(t testing.TB, w *httptest.ResponseRecorder) (doc problemDocument) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type is %q", got)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Errorf("body %q: %v", w.Body, err)
	}
	if doc.Status != w.Code {
		t.Errorf("the body says %d, the answer is %d", doc.Status, w.Code)
	}
	return doc
}

// plans are tiers for most tests: free and pro, and one each that is special.
func plans(t testing.TB) *tenant.Tiers {
	t.Helper()
	tiers, err := tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Share: 2, Streams: 1},
		tenant.Tier{Name: "pro", Rate: 20, Burst: 60, Share: 4, Streams: 2},
		tenant.Tier{Name: "daily", Rate: 1, Burst: 5, Share: 1, Quotas: tenant.Quotas{Day: 10}},
		tenant.Tier{Name: "monthly", Rate: tenant.Unlimited, Share: 2, Quotas: tenant.Quotas{Month: 100}},
		tenant.Tier{Name: "once", Rate: 0, Burst: 3, Share: 2},
		tenant.Tier{Name: "unlimited", Rate: tenant.Unlimited, Share: 8},
	)
	if err != nil {
		t.Fatal(err)
	}
	return tiers
}

func newLimiter(t testing.TB, cfg quota.Config) *quota.Limiter {
	t.Helper()
	if cfg.Tiers == nil {
		cfg.Tiers = plans(t)
	}
	l, err := quota.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func newPool(t testing.TB, cfg fairslots.Config) *fairslots.Pool {
	t.Helper()
	if cfg.Tiers == nil {
		cfg.Tiers = plans(t)
	}
	p, err := fairslots.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func newBulkhead(t testing.TB, cfg bulkhead.Config) *bulkhead.Bulkhead {
	t.Helper()
	if cfg.Tiers == nil {
		cfg.Tiers = plans(t)
	}
	b, err := bulkhead.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// remaining is what the limiter has left for a tenant.
func remaining(t testing.TB, l *quota.Limiter, who tenant.Tenant) quota.Decision {
	t.Helper()
	d, err := l.Peek(context.Background(), who, quota.DefaultOperation)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// outcomes collects what a gate observes.
type outcomes struct {
	mu  sync.Mutex
	all []middleware.Outcome
}

func (o *outcomes) observe(_ *http.Request, out middleware.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, out)
}

func (o *outcomes) list() []middleware.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]middleware.Outcome(nil), o.all...)
}

// only returns the one outcome that was observed.
func (o *outcomes) only(t testing.TB) middleware.Outcome {
	t.Helper()
	all := o.list()
	if len(all) != 1 {
		t.Fatalf("%d outcomes were observed, want 1: %+v", len(all), all)
	}
	return all[0]
}

// slotsFunc is a pool of somebody else's.
type slotsFunc func(context.Context, tenant.Tenant) (func(), error)

func (f slotsFunc) Acquire(ctx context.Context, t tenant.Tenant) (func(), error) { return f(ctx, t) }
func (slotsFunc) Stats() tenant.SlotStats                                        { return tenant.SlotStats{Capacity: 1} }

var errBroken = errors.New("broken")

// ok is a handler that answers 200.
var ok = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// busy answers once it may go on.
func busy(goOn <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-goOn })
}
