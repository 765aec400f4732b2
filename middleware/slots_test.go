package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// refusing is a pool that gives nobody a slot.
func refusing(err error) slotsFunc {
	return func(context.Context, tenant.Tenant) (func(), error) { return nil, err }
}

func TestSlots_RefusalGivesBackWhatItsReasonSays(t *testing.T) {
	for _, c := range []struct {
		name                string
		err                 error
		status              int
		tokens, day, header int64 // left of 5 and 10; header: of the rate, as the answer says
	}{
		{"capacity", &tenant.Refusal{Reason: tenant.ReasonCapacity}, 503, 5, 10, 5},
		{"closing", &tenant.Refusal{Reason: tenant.ReasonClosing}, 503, 5, 10, 5},
		{"share", &tenant.Refusal{Reason: tenant.ReasonShare}, 429, 4, 10, 4},
		{"deadline", context.DeadlineExceeded, 503, 5, 10, 5},
		{"any other", errBroken, 500, 5, 10, 5},
		{"cancelled, but the client is there", context.Canceled, 500, 5, 10, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := newLimiter(t, quota.Config{})
				var seen outcomes
				g := newGate(t, middleware.Config{Resolver: named, Quota: limiter, Slots: refusing(c.err), Observe: seen.observe})
				for name, h := range map[string]http.Handler{"whole": g.Handler(ok), "pieces": g.Tenant(g.Quota(g.Slots(ok)))} {
					w := get(h, name+" daily", "/")
					if w.Code != c.status {
						t.Errorf("%s: status %d, want %d", name, w.Code, c.status)
					}
					d := remaining(t, limiter, tenant.Tenant{ID: name, Tier: "daily"})
					if int64(d.Remaining) != c.tokens || d.QuotaRemaining != c.day {
						t.Errorf("%s: left %d and %d a day, want %d and %d", name, d.Remaining, d.QuotaRemaining, c.tokens, c.day)
					}
					if got := w.Header().Get("X-RateLimit-Remaining"); got != fmt.Sprint(c.header) {
						t.Errorf("%s: X-RateLimit-Remaining is %s, want %d", name, got, c.header)
					}
					if got := seen.list()[len(seen.list())-1].Decision; int64(got.Remaining) != c.tokens || got.QuotaRemaining != c.day {
						t.Errorf("%s: observed %d and %d left", name, got.Remaining, got.QuotaRemaining)
					}
				}
			})
		})
	}
}

func TestSlots_ClientThatLeavesWhileQueuedPaysAndGetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, quota.Config{})
		var seen outcomes
		slots := newPool(t, fairslots.Config{Capacity: 1})
		g := newGate(t, middleware.Config{Resolver: named, Quota: limiter, Slots: slots, Observe: seen.observe})
		goOn := make(chan struct{})
		h := g.Handler(busy(goOn))
		go get(h, "first", "/")
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		w := do(h, request("acme daily", "/").WithContext(ctx))
		if w.Body.Len() != 0 || w.Flushed {
			t.Errorf("wrote %d %q", w.Code, w.Body)
		}
		out := seen.only(t)
		if out.Result != middleware.Cancelled || out.Wait != time.Second || out.Status != 0 || !errors.Is(out.Err, context.Canceled) {
			t.Errorf("observed %+v", out)
		}
		if d := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "daily"}); d.QuotaRemaining != 9 {
			t.Errorf("%d left of the day, want 9", d.QuotaRemaining)
		}
		close(goOn)
	})
}

// impatientStore is a store that does nothing for a request that is over, as one behind a network does.
type impatientStore struct{ quota.Store }

func (s impatientStore) Refund(ctx context.Context, rules quota.Rules, charges []quota.Charge) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.Store.Refund(ctx, rules, charges)
}

// stingyStore is a store that takes and does not give back.
type stingyStore struct{ quota.Store }

func (stingyStore) Refund(context.Context, quota.Rules, []quota.Charge) error { return errBroken }

func TestSlots_FailedRefundIsCounted(t *testing.T) {
	g := newGate(t, middleware.Config{
		Resolver: named, Quota: newLimiter(t, quota.Config{Store: stingyStore{quota.NewMemory(nil)}}),
		Slots: refusing(&tenant.Refusal{Reason: tenant.ReasonCapacity}),
	})
	w := get(g.Handler(ok), "acme", "/")
	if got := value(t, g, "tenantgate_refund_failures_total"); w.Code != 503 || got != 1 {
		t.Errorf("status %d, %v failures counted", w.Code, got)
	}
}

func TestSlots_RefundSurvivesTheEndOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, quota.Config{Store: impatientStore{quota.NewMemory(nil)}})
		g := newGate(t, middleware.Config{Resolver: named, Quota: limiter, Slots: newPool(t, fairslots.Config{Capacity: 1})})
		goOn := make(chan struct{})
		h := g.Handler(busy(goOn))
		go get(h, "first", "/")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // bounds the wait: a refusal
		defer cancel()
		if w := do(h, request("acme daily", "/").WithContext(ctx)); w.Code != 503 {
			t.Errorf("status %d, want 503", w.Code)
		}
		if d := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "daily"}); d.QuotaRemaining != 10 || d.Remaining != 5 {
			t.Errorf("left %d and %d, want all", d.Remaining, d.QuotaRemaining)
		}
		close(goOn)
	})
}

func TestSlots_FreeWhenTheHandlerPanics(t *testing.T) {
	for _, thrown := range []any{"boom", http.ErrAbortHandler} {
		slots := newPool(t, fairslots.Config{Capacity: 1})
		var seen outcomes
		g := newGate(t, middleware.Config{Resolver: named, Slots: slots, Observe: seen.observe})
		h := g.Handler(g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(thrown) })))
		func() {
			defer func() {
				if got := recover(); got != thrown {
					t.Errorf("the panic became %v", got)
				}
			}()
			get(h, "acme", "/")
		}()
		if n := slots.Stats().InUse; n != 0 {
			t.Errorf("%v: %d slots in use", thrown, n)
		}
		if out := seen.only(t); out.Result != middleware.Admitted || !out.Panicked {
			t.Errorf("observed %s, panicked %v", out.Result, out.Panicked)
		}
	}
}

func TestGate_PanicOfAFunctionIsCountedAsFailed(t *testing.T) {
	for name, cfg := range map[string]middleware.Config{
		"Skip":      {Skip: func(*http.Request) bool { panic("x") }},
		"Resolver":  {Resolver: resolverFunc(func(*http.Request) (tenant.Tenant, error) { panic("x") })},
		"TierOf":    {Resolver: named, TierOf: func(context.Context, tenant.Tenant) (string, error) { panic("x") }},
		"Operation": {Resolver: named, Quota: newLimiter(t, quota.Config{}), Operation: func(*http.Request) string { panic("x") }},
		"Acquire":   {Resolver: named, Slots: slotsFunc(func(context.Context, tenant.Tenant) (func(), error) { panic("x") })},
	} {
		var seen outcomes
		cfg.Observe = seen.observe
		g := newGate(t, cfg)
		func() {
			defer func() { _ = recover() }()
			get(g.Handler(ok), "acme", "/")
		}()
		if out := seen.only(t); out.Result != middleware.Failed || !out.Panicked {
			t.Errorf("%s: observed %s, panicked %v", name, out.Result, out.Panicked)
		}
		if got := value(t, g, "tenantgate_in_flight_requests") + value(t, g, "tenantgate_queued_requests"); got != 0 {
			t.Errorf("%s: %v in flight or queued", name, got)
		}
		if err := g.Drain(t.Context()); err != nil {
			t.Errorf("%s: Drain: %v", name, err)
		}
	}
}

func TestSlots_NilReleaseIsFine(t *testing.T) {
	g := newGate(t, middleware.Config{Resolver: named, Slots: refusing(nil)})
	if w := get(g.Handler(ok), "acme", "/"); w.Code != 200 {
		t.Errorf("status %d", w.Code)
	}
}

func TestSlots_SkippedPathPassesAFullService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen outcomes
		g := newGate(t, middleware.Config{
			Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 1}), Observe: seen.observe,
			Skip: func(r *http.Request) bool { return r.URL.Path == "/healthz" },
		})
		goOn := make(chan struct{})
		go get(g.Handler(busy(goOn)), "acme", "/")
		synctest.Wait()
		for name, h := range map[string]http.Handler{"whole": g.Handler(ok), "pieces": g.Tenant(g.Quota(g.Slots(ok)))} {
			start := time.Now()
			if w := get(h, "", "/healthz"); w.Code != 200 || time.Since(start) > 0 {
				t.Errorf("%s: status %d after %v, want 200 at once", name, w.Code, time.Since(start))
			}
		}
		if all := seen.list(); len(all) != 2 || all[0].Result != middleware.Skipped {
			t.Errorf("observed %+v", all)
		}
		close(goOn)
	})
}

// preflight is a CORS preflight.
func preflight() *http.Request {
	r := httptest.NewRequest(http.MethodOptions, "/", nil)
	r.Header.Set("Origin", "https://app.example.com")
	r.Header.Set("Access-Control-Request-Method", "POST")
	return r
}

func TestGate_PreflightsPassByOptionOnly(t *testing.T) {
	plain := httptest.NewRequest(http.MethodOptions, "/", nil)
	plain.Header.Set("Origin", "https://app.example.com")
	foreign := preflight()
	foreign.Header.Del("Origin")
	closed := newGate(t, middleware.Config{Resolver: named})
	open := newGate(t, middleware.Config{Resolver: named, SkipPreflights: true})
	for _, c := range []struct {
		name string
		g    *middleware.Gate
		r    *http.Request
		want int
	}{
		{"without the option", closed, preflight(), 401},
		{"with the option", open, preflight(), 200},
		{"a plain OPTIONS", open, plain, 401},
		{"without origin", open, foreign, 401},
	} {
		if w := do(c.g.Handler(ok), c.r); w.Code != c.want {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.want)
		}
	}
}

func TestSlots_TimeoutHandlerOutsideKeepsExecutingWithinCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen outcomes
		slots := newBulkhead(t, bulkhead.Config{Capacity: 2})
		g := newGate(t, middleware.Config{Resolver: named, Slots: slots, Observe: seen.observe})
		executing := make(chan struct{}, 2) // a third would block, and be seen as such
		h := http.TimeoutHandler(g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			select {
			case executing <- struct{}{}:
			default:
				t.Error("more than the capacity executes")
			}
			time.Sleep(3 * time.Second) // deaf to its context
			<-executing
		})), time.Second, "late")
		for range 6 {
			go func() {
				if w := get(h, "acme", "/"); w.Code != 503 {
					t.Errorf("status %d, want 503", w.Code)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		if n := slots.Stats().InUse; n != 2 {
			t.Errorf("%d slots in use after the timeout, want 2: the handlers still run", n)
		}
		time.Sleep(10 * time.Second)
		if n := slots.Stats().InUse; n != 0 || len(seen.list()) != 6 {
			t.Errorf("%d in use, %d outcomes, want 0 and 6", n, len(seen.list()))
		}
		refused := 0
		for _, out := range seen.list() {
			if out.Result == middleware.Refused && errors.Is(out.Err, context.DeadlineExceeded) {
				refused++
			}
		}
		if refused != 4 {
			t.Errorf("%d refused by their deadline, want 4", refused)
		}
	})
}

func TestSlots_TimeoutHandlerBetweenPiecesCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen outcomes
		slots := newPool(t, fairslots.Config{Capacity: 1})
		g := newGate(t, middleware.Config{Resolver: named, Quota: newLimiter(t, quota.Config{}), Slots: slots, Observe: seen.observe})
		h := g.Tenant(http.TimeoutHandler(g.Quota(g.Slots(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(3 * time.Second)
		}))), time.Second, "late"))
		for range 2 {
			go get(h, "acme", "/")
		}
		time.Sleep(10 * time.Second)
		if n := slots.Stats().InUse; n != 0 || len(seen.list()) != 2 {
			t.Errorf("%d in use, %d outcomes, want 0 and 2", n, len(seen.list()))
		}
		if got := value(t, g, "tenantgate_requests_total"); got != 2 {
			t.Errorf("%v counted, want 2", got)
		}
	})
}
