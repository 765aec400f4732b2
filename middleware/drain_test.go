package middleware_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestDrain_WaitsForWhatRunsAndRefusesWhatComes(t *testing.T) {
	for name, with := range map[string]func(*testing.T) middleware.Slots{
		"pool":         func(t *testing.T) middleware.Slots { return newPool(t, fairslots.Config{Capacity: 1}) },
		"foreign pool": func(*testing.T) middleware.Slots { return refusing(nil) },
		"no slots":     func(*testing.T) middleware.Slots { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := newLimiter(t, quota.Config{})
				g := newGate(t, middleware.Config{
					Resolver: named, Quota: limiter, Slots: with(t), Skip: func(r *http.Request) bool { return r.URL.Path == "/healthz" },
				})
				h := g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Second) }))
				go get(h, "globex", "/")
				synctest.Wait()

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := g.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Drain while a request runs: %v", err)
				}
				for name, h := range map[string]http.Handler{"whole": h, "pieces": g.Tenant(g.Quota(g.Slots(ok)))} {
					w := get(h, "acme free", "/")
					if doc := problemOf(t, w); doc.Reason != "closing" || w.Code != 503 || doc.Tier != "free" || doc.RetryAfter != 1 {
						t.Errorf("%s: a new request: %+v", name, doc)
					}
				}
				if d := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "free"}); d.Remaining != 10 {
					t.Errorf("%d left after a refusal for closing, want all", d.Remaining)
				}
				if w := get(g.Handler(ok), "", "/healthz"); w.Code != 200 {
					t.Errorf("a skipped path: %d", w.Code)
				}
				start := time.Now()
				if err := g.Drain(t.Context()); err != nil || time.Since(start) != 9*time.Second {
					t.Errorf("Drain: %v after %v", err, time.Since(start))
				}
				if err := g.Drain(t.Context()); err != nil {
					t.Errorf("Drain again: %v", err)
				}
			})
		})
	}
}

func TestDrain_DoesNotWaitForWhoReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, middleware.Config{Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 1})})
		go get(g.Handler(inside(func(ctx context.Context) { middleware.Release(ctx); time.Sleep(time.Hour) })), "acme", "/")
		synctest.Wait()
		start := time.Now()
		if err := g.Drain(t.Context()); err != nil || time.Since(start) != 0 {
			t.Errorf("Drain: %v after %v", err, time.Since(start))
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestClose_AnswersWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, middleware.Config{Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 1, MaxWait: time.Hour})})
		goOn := make(chan struct{})
		h := g.Handler(busy(goOn))
		go get(h, "globex", "/")
		synctest.Wait()
		time.AfterFunc(time.Second, g.Close)
		start := time.Now()
		if w := get(h, "acme", "/"); problemOf(t, w).Reason != "closing" || time.Since(start) != time.Second {
			t.Errorf("a waiter: %d %s after %v", w.Code, w.Body, time.Since(start))
		}
		close(goOn)
		g.Close()
		if err := g.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
