package middleware_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// small is a gate with room for one request at a time, and what it is made of.
type small struct {
	*middleware.Gate
	limiter *quota.Limiter
	slots   *fairslots.Pool
	seen    outcomes
}

func newSmall(t *testing.T, capacity int) *small {
	tiers, err := tenant.NewTiers("free", // nothing comes back, so what is left tells what was spent
		tenant.Tier{Name: "free", Burst: 10, Share: 2, Streams: 1}, tenant.Tier{Name: "pro", Burst: 60, Share: 4, Streams: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := &small{
		limiter: newLimiter(t, quota.Config{Tiers: tiers}),
		slots:   newPool(t, fairslots.Config{Capacity: capacity, Tiers: tiers}),
	}
	s.Gate = newGate(t, middleware.Config{
		Resolver: named, Quota: s.limiter, Slots: s.slots, Observe: s.seen.observe,
		Skip: func(r *http.Request) bool { return r.URL.Path == "/healthz" },
	})
	return s
}

// check expects that requests were counted, that they cost so many units of acme, and that nothing is held.
func (s *small) check(t *testing.T, requests, cost int) {
	t.Helper()
	if n := len(s.seen.list()); n != requests {
		t.Errorf("%d requests observed, want %d", n, requests)
	}
	if got := value(t, s.Gate, "tenantgate_requests_total"); got != float64(requests) {
		t.Errorf("%v requests counted, want %d", got, requests)
	}
	if d := remaining(t, s.limiter, tenant.Tenant{ID: "acme"}); d.Remaining != 10-cost {
		t.Errorf("%d units left, want %d", d.Remaining, 10-cost)
	}
	s.checkUse(t, 0, 0)
}

// checkUse expects that slots are in use by as many requests, and that streams run.
func (s *small) checkUse(t *testing.T, slots, streams int) {
	t.Helper()
	if st := s.slots.Stats(); st.InUse != slots || st.Streams != streams {
		t.Errorf("%d slots and %d streams in use, want %d and %d", st.InUse, st.Streams, slots, streams)
	}
	got, running := value(t, s.Gate, "tenantgate_in_flight_requests"), value(t, s.Gate, "tenantgate_streams")
	if got != float64(slots) || running != float64(streams) {
		t.Errorf("%v in flight and %v streams counted, want %d and %d", got, running, slots, streams)
	}
}

// inside is a handler that calls do in the context of its request.
func inside(do func(ctx context.Context)) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { do(r.Context()) })
}

// expect has h answer a request of who made in ctx, and wants a status.
func expect(t *testing.T, ctx context.Context, h http.Handler, who string, status int) {
	t.Helper()
	if w := do(h, request(who, "/").WithContext(ctx)); w.Code != status {
		t.Errorf("status %d, want %d: %s", w.Code, status, w.Body)
	}
}

func TestNested_MountedTwiceIsOneTokenAndOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		pieces := func(h http.Handler) http.Handler { return s.Tenant(s.Quota(s.Slots(h))) }
		h := s.Handler(s.Handler(pieces(s.Slots(s.Quota(inside(func(context.Context) {
			if n := s.slots.Stats().InUse; n != 1 {
				t.Errorf("%d slots in use, want 1", n)
			}
		}))))))
		expect(t, t.Context(), h, "acme", 200)
		expect(t, t.Context(), pieces(h), "acme", 200)
		s.check(t, 2, 2)
	})
}

func TestNested_CallOfTheSameGateDoesNotWaitForItself(t *testing.T) {
	for name, who := range map[string]string{"with the credential": "acme", "without": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSmall(t, 1)
				var innermost tenant.Tenant
				third := s.Handler(inside(func(ctx context.Context) { innermost, _ = tenant.FromContext(ctx) }))
				second := s.Handler(inside(func(ctx context.Context) { expect(t, ctx, third, who, 200) }))
				first := s.Handler(inside(func(ctx context.Context) {
					expect(t, ctx, second, who, 200)
					expect(t, ctx, s.Tenant(second), who, 200) // one after the other
				}))
				expect(t, t.Context(), first, "acme", 200)
				s.check(t, 1, 1)
				if innermost.String() != "acme (free)" {
					t.Errorf("the innermost handler saw %v", innermost)
				}
			})
		})
	}
}

func TestNested_BadCredentialIsRefusedInsideToo(t *testing.T) {
	g := newGate(t, middleware.Config{Resolver: resolverFunc(func(r *http.Request) (tenant.Tenant, error) {
		if r.Header.Get("Authorization") == "Name forged" {
			return tenant.Tenant{}, tenant.ErrInvalid
		}
		return named(r)
	})})
	h := g.Handler(inside(func(ctx context.Context) { expect(t, ctx, g.Handler(ok), "forged", 401) }))
	expect(t, t.Context(), h, "acme", 200)
}

func TestNested_TwoCallsAtATimeTakeTwoSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 2)
		slow := s.Handler(inside(func(context.Context) {
			if n := s.slots.Stats().InUse; n > 2 {
				t.Errorf("%d slots in use", n)
			}
			time.Sleep(time.Second)
		}))
		h := s.Handler(inside(func(ctx context.Context) {
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { expect(t, ctx, slow, "acme", 200) })
			}
			wg.Wait()
		}))
		start := time.Now()
		expect(t, t.Context(), h, "acme", 200)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("three calls on two slots took %v, want 2s", took)
		}
		s.check(t, 1, 1)
	})
}

func TestNested_CallReleasesItsOwnSlotOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 2)
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			var wg sync.WaitGroup
			wg.Go(func() {
				expect(t, ctx, s.Handler(inside(func(context.Context) { time.Sleep(time.Second) })), "acme", 200)
			})
			synctest.Wait()
			expect(t, ctx, s.Handler(inside(func(ctx context.Context) {
				if first, second := middleware.Release(ctx), middleware.Release(ctx); !first || second {
					t.Errorf("Release: %v, then %v", first, second)
				}
				if n := s.slots.Stats().InUse; n != 1 {
					t.Errorf("%d slots in use, want that of the request", n)
				}
			})), "acme", 200)
			wg.Wait()
		})), "acme", 200)
		s.check(t, 1, 1)
	})
}

func TestNested_CallOfAnotherTenantIsARequestOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 2)
		back := s.Handler(ok)
		other := s.Handler(inside(func(ctx context.Context) {
			if n := s.slots.Stats().InUse; n != 2 {
				t.Errorf("%d slots in use, want 2", n)
			}
			expect(t, ctx, back, "acme", 200) // the first tenant again: its request is still served
		}))
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) { expect(t, ctx, other, "globex pro", 200) })), "acme", 200)
		s.check(t, 2, 1)
		if d := remaining(t, s.limiter, tenant.Tenant{ID: "globex", Tier: "pro"}); d.Remaining != 59 {
			t.Errorf("%d left to the other tenant, want 59", d.Remaining)
		}
	})
}

func TestNested_VisitThatOutlastsTheRequestKeepsTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		slow := s.Handler(inside(func(context.Context) { time.Sleep(time.Second) }))
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			go expect(t, context.WithoutCancel(ctx), slow, "acme", 200)
			time.Sleep(time.Millisecond)
		})), "acme", 200)
		if n := s.slots.Stats().InUse; n != 1 {
			t.Errorf("%d slots in use while the visit runs, want 1", n)
		}
		time.Sleep(2 * time.Second)
		s.check(t, 1, 1)
	})
}

func TestNested_AfterTheRequestItsContextIsNoWayAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		var kept context.Context
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) { kept = context.WithoutCancel(ctx) })), "acme", 200)
		expect(t, kept, s.Handler(ok), "", 401)
		expect(t, kept, s.Handler(ok), "acme", 200)
		if middleware.Release(kept) {
			t.Error("Release of a request that is over gave something back")
		}
		s.check(t, 3, 2)
	})
}

func TestNested_DetachEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 2)
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			expect(t, tenant.Detach(ctx), s.Handler(ok), "", 401)
			expect(t, tenant.Detach(ctx), s.Quota(s.Slots(inside(func(context.Context) {
				if n := s.slots.Stats().InUse; n != 2 {
					t.Errorf("%d slots in use, want 2", n)
				}
			}))), "", 200)
		})), "acme", 200)
		s.check(t, 3, 2)
	})
}

func TestNested_RefusedCallLeavesTheRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		slow := s.Handler(inside(func(context.Context) { time.Sleep(10 * time.Second) }))
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			var wg sync.WaitGroup
			wg.Go(func() { expect(t, ctx, slow, "acme", 200) })
			synctest.Wait()
			expect(t, ctx, slow, "acme", 429) // waits for a slot of its own, in vain
			wg.Wait()
		})), "acme", 200)
		if out := s.seen.only(t); out.Result != middleware.Admitted || out.Decision.Remaining != 9 {
			t.Errorf("observed %s with %d left", out.Result, out.Decision.Remaining)
		}
	})
}

func TestNested_HandlerOfASkippedPathIsNoWayIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		r := request("", "/healthz")
		w := do(s.Handler(s.Handler(s.Tenant(s.Quota(s.Slots(inside(func(ctx context.Context) {
			expect(t, ctx, s.Handler(ok), "", 401)
			expect(t, ctx, s.Handler(ok), "acme", 200)
		})))))), r)
		if w.Code != 200 {
			t.Errorf("status %d, want 200", w.Code)
		}
		s.check(t, 3, 1) // skipped once, and two that came from inside
	})
}

func TestNested_QuotaRefusesAgainWhatItRefused(t *testing.T) {
	s := newSmall(t, 1)
	g := newGate(t, middleware.Config{Resolver: named, Quota: s.limiter, Operation: func(*http.Request) string { return "x" }})
	for range 10 {
		get(g.Handler(ok), "acme", "/")
	}
	expect(t, t.Context(), g.Tenant(inside(func(ctx context.Context) {
		for range 3 {
			expect(t, ctx, g.Quota(ok), "", 429)
		}
	})), "acme", 200)
}

func TestRelease_GivesTheSlotBackEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		stream := s.Handler(s.Handler(inside(func(ctx context.Context) {
			if !middleware.Release(ctx) {
				t.Error("there was nothing to give back")
			}
			if middleware.Release(ctx) {
				t.Error("there was something to give back again")
			}
			if n := s.slots.Stats().InUse; n != 0 {
				t.Errorf("%d slots in use after Release", n)
			}
			expect(t, ctx, s.Handler(inside(func(ctx context.Context) {
				if n := s.slots.Stats().InUse; n != 1 {
					t.Errorf("%d slots in use by a call after Release, want 1", n)
				}
				if !middleware.Release(ctx) || s.slots.Stats().InUse != 0 {
					t.Error("the call cannot give its slot back")
				}
			})), "acme", 200)
			time.Sleep(time.Minute)
		})))
		go expect(t, t.Context(), stream, "acme", 200)
		synctest.Wait()
		start := time.Now()
		expect(t, t.Context(), s.Handler(ok), "globex", 200)
		if took := time.Since(start); took != 0 {
			t.Errorf("the next request waited %v for a stream that holds nothing", took)
		}
		time.Sleep(2 * time.Minute)
		s.check(t, 2, 1)
	})
}

func TestRelease_OfEveryGateThatTheRequestPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newSmall(t, 1), newSmall(t, 1)
		expect(t, t.Context(), a.Handler(b.Handler(inside(func(ctx context.Context) {
			if !middleware.Release(ctx) || a.slots.Stats().InUse+b.slots.Stats().InUse != 0 {
				t.Errorf("in use after Release: %d and %d", a.slots.Stats().InUse, b.slots.Stats().InUse)
			}
		}))), "acme", 200)
		a.check(t, 1, 1)
		b.check(t, 1, 1)
		if middleware.Release(t.Context()) {
			t.Error("Release of a context of no gate gave something back")
		}
	})
}
