package middleware_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenantgate/tenantgate/middleware"
)

func TestStream_AfterRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			middleware.Release(ctx)
			mustStream(t, ctx)
			s.checkUse(t, 0, 1)
		})), "acme", 200)
		s.check(t, 1, 1)
	})
}

func TestStream_WhereThereIsNoSlot(t *testing.T) {
	t.Run("gate without slots", func(t *testing.T) {
		g := newGate(t, middleware.Config{Resolver: named})
		h := g.Handler(inside(func(ctx context.Context) {
			mustStream(t, ctx)
			if f, s := value(t, g, "tenantgate_in_flight_requests"), value(t, g, "tenantgate_tenant_streams", "tenant", "acme"); f != 0 || s != 1 {
				t.Errorf("%v in flight and %v streams, want 0 and 1", f, s)
			}
			if err := g.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		}))
		expect(t, t.Context(), h, "acme daily", 200)
		checkCalm(t, g, nil)
	})
	t.Run("skipped", func(t *testing.T) {
		s := newSmall(t, 1)
		do(s.Handler(inside(func(ctx context.Context) {
			mustStream(t, ctx)
			s.checkUse(t, 0, 0)
		})), request("", "/healthz"))
	})
	t.Run("no gate", func(t *testing.T) {
		if err := middleware.Stream(t.Context()); err == nil || !strings.Contains(err.Error(), "mount one") {
			t.Errorf("Stream: %v", err)
		}
	})
	t.Run("request that is over", func(t *testing.T) {
		s := newSmall(t, 1)
		var kept context.Context
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) { kept = ctx })), "acme", 200)
		if err := middleware.Stream(kept); err == nil {
			t.Error("Stream: no error")
		}
		s.check(t, 1, 1)
	})
	t.Run("pool without streams", func(t *testing.T) {
		g := newGate(t, middleware.Config{Resolver: named, Slots: refusing(nil)})
		w := get(g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			err := middleware.Stream(r.Context())
			if err == nil || !strings.Contains(err.Error(), "middleware_test.slotsFunc has no AcquireStream") {
				t.Errorf("Stream: %v", err)
			}
			if got := value(t, g, "tenantgate_in_flight_requests"); got != 1 {
				t.Errorf("%v in flight, want 1", got)
			}
			middleware.Refuse(w, r, err)
		})), "acme", "/")
		if w.Code != 500 || strings.Contains(w.Body.String(), "slotsFunc") {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
		checkCalm(t, g, nil)
	})
}

func TestStream_BeforeTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		early := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mustStream(t, r.Context())
				s.checkUse(t, 0, 1)
				next.ServeHTTP(w, r)
				s.checkUse(t, 0, 1)
			})
		}
		expect(t, t.Context(), s.Tenant(s.Quota(early(ok))), "acme", 200) // a route without the piece that takes slots
		s.check(t, 1, 1)
		expect(t, t.Context(), s.Tenant(s.Quota(early(s.Slots(inside(func(ctx context.Context) {
			s.checkUse(t, 1, 1)
			mustStream(t, ctx) // it is one already, and has no more than one
			s.checkUse(t, 0, 1)
		}))))), "acme", 200)
		s.check(t, 2, 2)
	})
}
