package middleware_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestStream_MountedTwiceIsOneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		expect(t, t.Context(), s.Handler(s.Handler(s.Slots(inside(func(ctx context.Context) {
			mustStream(t, ctx)
			s.checkUse(t, 0, 1)
		})))), "acme", 200)
		s.check(t, 1, 1)
	})
}

// A call that runs on the request's slot makes the request a stream, until that is done.
func TestStream_OfACallIsTheRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		call := s.Handler(inside(func(ctx context.Context) { mustStream(t, ctx) }))
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			expect(t, ctx, call, "acme", 200)
			s.checkUse(t, 0, 1)
			mustStream(t, ctx)
			s.checkUse(t, 0, 1)
		})), "acme", 200)
		s.check(t, 1, 1)
	})
}

func TestStream_CallOfTheSameGateTakesASlotAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			mustStream(t, ctx)
			expect(t, ctx, s.Handler(inside(func(context.Context) { s.checkUse(t, 1, 1) })), "acme", 200)
			s.checkUse(t, 0, 1)
			expect(t, ctx, s.Handler(stream(nil)), "acme", 429) // that slot would be a second stream of one
			s.checkUse(t, 0, 1)
		})), "acme", 200)
		s.check(t, 1, 1)
	})
}

func TestStream_TwoCallsAtATimeAreTwoStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 2)
		call := s.Handler(inside(func(ctx context.Context) {
			time.Sleep(time.Second) // both have a slot by then
			mustStream(t, ctx)
			time.Sleep(time.Second)
		}))
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			var calls sync.WaitGroup
			for range 2 {
				calls.Go(func() { expect(t, ctx, call, "acme pro", 200) })
			}
			time.Sleep(1500 * time.Millisecond)
			s.checkUse(t, 0, 2)
			calls.Wait()
			s.checkUse(t, 0, 1) // that of the call which had a slot of its own is over
		})), "acme pro", 200)
		s.checkUse(t, 0, 0)
	})
}

func TestStream_CallThatOutlastsTheRequestStaysOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		slow := s.Handler(inside(func(ctx context.Context) {
			mustStream(t, ctx)
			time.Sleep(time.Second)
		}))
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			go expect(t, context.WithoutCancel(ctx), slow, "acme", 200)
			time.Sleep(time.Millisecond)
		})), "acme", 200)
		s.checkUse(t, 0, 1)
		time.Sleep(2 * time.Second)
		s.check(t, 1, 1)
	})
}

// What has been at the slots and left them is not served on them any more: a stream of it is the request's.
func TestStream_BehindACallThatHasLeftItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		afterwards := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				mustStream(t, r.Context())
				s.checkUse(t, 0, 1)
			})
		}
		expect(t, t.Context(), s.Tenant(afterwards(s.Slots(ok))), "acme", 200)
		s.checkUse(t, 0, 0)
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			expect(t, ctx, s.Tenant(afterwards(s.Slots(ok))), "acme", 200)
			s.checkUse(t, 0, 1)
		})), "acme", 200)
		s.checkUse(t, 0, 0)
	})
}

func TestStream_DetachedIsNone(t *testing.T) {
	s := newSmall(t, 1)
	expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
		if err := middleware.Stream(tenant.Detach(ctx)); err == nil {
			t.Error("Stream of a detached context: no error")
		}
		s.checkUse(t, 1, 0)
	})), "acme", 200)
}
