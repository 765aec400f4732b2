package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// storm sends requests that do all that requests can do, and counts what the gate should have counted.
type storm struct {
	chain http.Handler
	began atomic.Int64 // requests of their own
	t     *testing.T
}

// handler does what the request's path says, for as long as it says.
func (s *storm) handler(w http.ResponseWriter, r *http.Request) {
	rng := rand.New(rand.NewPCG(uint64(len(r.URL.Path)), uint64(r.ContentLength)))
	switch r.URL.Path {
	case "/panic":
		panic(http.ErrAbortHandler)
	case "/release":
		middleware.Release(r.Context())
	case "/stream":
		s.stream(w, r)
	case "/stream-nested":
		s.stream(w, r)
		s.call(r.Context(), "/stream", r.Header.Get("Authorization"))
	case "/nested-stream":
		s.call(r.Context(), "/stream", r.Header.Get("Authorization"))
		s.stream(w, r)
	case "/nested":
		s.call(r.Context(), "/", r.Header.Get("Authorization"))
	case "/deep":
		s.call(r.Context(), "/nested", r.Header.Get("Authorization"))
	case "/release-nested":
		middleware.Release(r.Context())
		s.call(r.Context(), "/release", r.Header.Get("Authorization"))
	case "/fan":
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { s.call(r.Context(), "/stream", r.Header.Get("Authorization")) })
		}
		wg.Wait()
	case "/other":
		s.began.Add(1)
		s.call(r.Context(), "/", "Name someone pro")
	}
	time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
}

// stream moves a request. A refusal leaves it where it was.
func (s *storm) stream(w http.ResponseWriter, r *http.Request) {
	err := middleware.Stream(r.Context())
	if _, refused := errors.AsType[*tenant.Refusal](err); err != nil && !refused {
		s.t.Errorf("Stream: %v", err)
	}
	if err != nil {
		middleware.Refuse(w, r, err)
	}
}

// call is a call by a handler.
func (s *storm) call(ctx context.Context, path, authorization string) {
	r := request("", path).WithContext(ctx)
	r.Header.Set("Authorization", authorization)
	do(s.chain, r)
}

func (s *storm) request(rng *rand.Rand) {
	paths := []string{
		"/", "/", "/", "/panic", "/release", "/nested", "/deep", "/fan", "/other", "/release-nested", "/healthz",
		"/stream", "/stream-nested", "/nested-stream",
	}
	tiers := []string{"free", "pro", "gold", "daily"}
	r := request(fmt.Sprintf("t%d %s", rng.IntN(4), tiers[rng.IntN(4)]), paths[rng.IntN(len(paths))])
	if rng.IntN(20) == 0 {
		r.Header.Del("Authorization")
	}
	ctx := s.t.Context()
	switch rng.IntN(6) {
	case 0:
		c, cancel := context.WithCancel(ctx)
		ctx = c
		time.AfterFunc(time.Duration(rng.IntN(30))*time.Millisecond, cancel)
	case 1:
		c, cancel := context.WithTimeout(ctx, time.Duration(rng.IntN(30))*time.Millisecond)
		defer cancel()
		ctx = c
	}
	s.began.Add(1)
	defer func() { _ = recover() }()
	do(s.chain, r.WithContext(ctx))
}

func TestGate_AnyMixOfRequestsEndsWithNothingHeldAndAllCounted(t *testing.T) {
	for name, with := range map[string]func(*testing.T, *tenant.Tiers) middleware.Slots{
		"fairslots": func(t *testing.T, tiers *tenant.Tiers) middleware.Slots {
			return newPool(t, fairslots.Config{Capacity: 3, Tiers: tiers, MaxQueue: 4, MaxWait: 30 * time.Millisecond})
		},
		"bulkhead": func(t *testing.T, tiers *tenant.Tiers) middleware.Slots {
			return newBulkhead(t, bulkhead.Config{Capacity: 3, Tiers: tiers, MaxQueue: 4, MaxWait: 30 * time.Millisecond})
		},
		"none": func(*testing.T, *tenant.Tiers) middleware.Slots { return nil },
	} {
		for seed := range uint64(15) {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tiers := plans(t)
					var seen outcomes
					slots := with(t, tiers)
					var weights map[string]int
					if slots != nil {
						weights = map[string]int{"/": 2, "/deep": 3, "/stream": 9}
					}
					g := newGate(t, middleware.Config{
						Resolver: named, Slots: slots, Weights: weights, Operation: func(r *http.Request) string { return r.URL.Path },
						Quota: newLimiter(t, quota.Config{Tiers: tiers, Global: quota.Rate{PerSecond: 500, Burst: 100}}),
						Skip:  func(r *http.Request) bool { return r.URL.Path == "/healthz" }, Observe: seen.observe, TopTenants: 2,
					})
					s := &storm{t: t}
					s.chain = g.Handler(http.HandlerFunc(s.handler))
					if seed%2 == 1 {
						s.chain = g.Tenant(g.Quota(g.Slots(g.Handler(http.HandlerFunc(s.handler)))))
					}
					rng := rand.New(rand.NewPCG(seed, 7))
					var wg sync.WaitGroup
					for range 200 {
						own := rand.New(rand.NewPCG(rng.Uint64(), 0))
						wg.Go(func() { s.request(own) })
						time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
					}
					if seed%3 == 0 {
						g.Close()
					}
					wg.Wait()
					checkCalm(t, g, slots)
					began := float64(s.began.Load())
					if got := value(t, g, "tenantgate_requests_total"); got != began || float64(len(seen.list())) != began {
						t.Errorf("%v counted and %d observed, want %v", got, len(seen.list()), began)
					}
					checkSums(t, g)
				})
			})
		}
	}
}

// checkCalm expects that nobody holds anything or waits.
func checkCalm(t *testing.T, g *middleware.Gate, slots middleware.Slots) {
	t.Helper()
	if slots != nil {
		if st := slots.Stats(); st.InUse != 0 || st.Waiting != 0 || st.Streams != 0 {
			t.Errorf("%d slots in use, %d wait, %d streams", st.InUse, st.Waiting, st.Streams)
		}
	}
	for _, name := range []string{
		"in_flight_requests", "queued_requests", "streams",
		"tenant_in_flight_requests", "tenant_queued_requests", "tenant_streams",
	} {
		for _, m := range scrape(t, g)["tenantgate_"+name] {
			if m.value != 0 {
				t.Errorf("%s%v is %v", name, m.labels, m.value)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := g.Drain(ctx); err != nil {
		t.Errorf("Drain: %v", err)
	}
}

// checkSums expects that what the tenants have, and what has none, adds up to the totals.
func checkSums(t *testing.T, g *middleware.Gate) {
	t.Helper()
	tenantless := 0.0
	for _, outcome := range []string{"skipped", "unauthenticated"} {
		tenantless += value(t, g, "tenantgate_requests_total", "outcome", outcome)
	}
	tenants, total := value(t, g, "tenantgate_tenant_requests_total"), value(t, g, "tenantgate_requests_total")
	if got, want := tenants+tenantless, total; got != want {
		t.Errorf("the tenants' requests and the tenantless are %v, the total is %v", got, want)
	}
	if got, want := value(t, g, "tenantgate_tenant_slot_wait_seconds"), value(t, g, "tenantgate_slot_wait_seconds"); got != want {
		t.Errorf("the tenants' waits are %v, the total is %v", got, want)
	}
}
