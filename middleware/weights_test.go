package middleware_test

import (
	"context"
	"net/http"
	"strings"
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

func byPath(r *http.Request) string { return r.URL.Path }

func TestWeights_AreCheckedByNew(t *testing.T) {
	pool := newPool(t, fairslots.Config{Capacity: 4})
	for _, c := range []struct {
		name   string
		cfg    middleware.Config
		errors []string // none: it is fine
	}{
		{"fine", middleware.Config{Slots: pool, Operation: byPath, Weights: map[string]int{"/": 1, "/wide": 99}}, nil},
		{"none", middleware.Config{Weights: map[string]int{}}, nil},
		{"below one", middleware.Config{Slots: pool, Operation: byPath, Weights: map[string]int{"/a": -1, "/b": 0, "/c": 1}},
			[]string{`Weights is -1 for "/a", want 1 or more`, `Weights is 0 for "/b", want 1 or more`}},
		{"no slots", middleware.Config{Operation: byPath, Weights: map[string]int{"/": 2}}, []string{"Weights is set without Slots"}},
		{"no operation", middleware.Config{Slots: pool, Weights: map[string]int{"/": 2}},
			[]string{"Weights is set without Operation, which says what weighs what"}},
		{"narrow slots", middleware.Config{Slots: refusing(nil), Operation: byPath, Weights: map[string]int{"/": 2}},
			[]string{"Weights is set, and a middleware_test.slotsFunc has no AcquireN"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := ""
			if len(c.errors) > 0 {
				want = "middleware: " + strings.Join(c.errors, "\nmiddleware: ")
			}
			got := ""
			if _, err := middleware.New(c.cfg); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("New: %s\nwant: %s", got, want)
			}
		})
	}
}

func TestWeights_AreWhatARequestTakes(t *testing.T) {
	slots := newPool(t, fairslots.Config{Capacity: 6})
	weights := map[string]int{"/export": 3, "/everything": 100}
	byDefault := map[string]int{quota.DefaultOperation: 2, "/export": 3}
	for _, c := range []struct {
		weights map[string]int
		path    string
		want    int
	}{
		{weights, "/export", 3}, {weights, "/", 1}, {weights, "/everything", 6},
		{byDefault, "/export", 3}, {byDefault, "/", 2}, {nil, "/export", 1},
	} {
		g := newGate(t, middleware.Config{Resolver: named, Slots: slots, Operation: byPath, Weights: c.weights})
		get(g.Handler(g.Handler(inside(func(context.Context) {
			if n := slots.Stats().InUse; n != c.want {
				t.Errorf("%s with weights %v takes %d slots, want %d", c.path, c.weights, n, c.want)
			}
			if n := value(t, g, "tenantgate_in_flight_requests"); n != 1 {
				t.Errorf("%v requests in flight, want 1 however much it weighs", n)
			}
		}))), "acme pro", c.path)
		if n := slots.Stats().InUse; n != 0 {
			t.Errorf("%d slots in use at the end", n)
		}
	}
}

func TestWeights_AreThoseThatNewSaw(t *testing.T) {
	slots := newPool(t, fairslots.Config{Capacity: 6})
	weights := map[string]int{"/": 3}
	g := newGate(t, middleware.Config{Resolver: named, Slots: slots, Operation: byPath, Weights: weights})
	weights["/"] = -1
	get(g.Handler(inside(func(context.Context) {
		if n := slots.Stats().InUse; n != 3 {
			t.Errorf("%d slots in use, want 3", n)
		}
	})), "acme", "/")
}

func TestWeights_WideRequestWaitsInAFullPoolAndGetsItsTurn(t *testing.T) {
	for name, with := range map[string]func(*testing.T) middleware.Slots{
		"fairslots": func(t *testing.T) middleware.Slots { return newPool(t, fairslots.Config{Capacity: 4}) },
		"bulkhead":  func(t *testing.T) middleware.Slots { return newBulkhead(t, bulkhead.Config{Capacity: 4}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slots := with(t)
				g := newGate(t, middleware.Config{
					Resolver: named, Slots: slots, Operation: byPath, Weights: map[string]int{"/wide": 3},
				})
				h := g.Handler(inside(func(context.Context) { time.Sleep(100 * time.Millisecond) }))
				stop := time.Now().Add(2 * time.Second)
				for i := range 8 { // a flood of two tenants that never lets up
					go func() {
						time.Sleep(time.Duration(i) * 12 * time.Millisecond)
						for time.Now().Before(stop) {
							get(h, []string{"globex pro", "initech pro"}[i%2], "/")
						}
					}()
				}
				time.Sleep(500 * time.Millisecond)
				start := time.Now()
				if w := get(h, "acme pro", "/wide"); w.Code != 200 {
					t.Errorf("the wide request: %d %s", w.Code, w.Body)
				}
				// Nobody overtakes it but for who came before, and three of four slots come free within 100 ms each.
				if took := time.Since(start); took > 700*time.Millisecond {
					t.Errorf("the wide request took %v", took)
				}
				time.Sleep(5 * time.Second)
				checkCalm(t, g, slots)
			})
		})
	}
}

// The first request holds what is free, and the wide one is refused as any other.
func TestWeights_RefusedWideRequestIsAnsweredAndRefunded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, quota.Config{})
		g := newGate(t, middleware.Config{
			Resolver: named, Quota: limiter, Slots: newPool(t, fairslots.Config{Capacity: 2, MaxWait: time.Second}),
			Operation: byPath, Weights: map[string]int{"/wide": 2},
		})
		end := make(chan struct{})
		go get(g.Handler(busy(end)), "globex", "/")
		synctest.Wait()
		w := get(g.Handler(ok), "acme daily", "/wide")
		if doc := problemOf(t, w); doc.Reason != "capacity" || w.Code != 503 {
			t.Errorf("answered %d %+v", w.Code, doc)
		}
		if d := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "daily"}); d.Remaining != 5 {
			t.Errorf("%d units left, want all 5", d.Remaining)
		}
		close(end)
	})
}

func TestWeights_OperationIsNamedOnceForQuotaAndSlots(t *testing.T) {
	for _, c := range []struct {
		name         string
		quota, slots bool
		weights      map[string]int
		want         int64
	}{
		{"both", true, true, map[string]int{"x1": 2}, 1},
		{"weights", false, true, map[string]int{"x1": 2}, 1},
		{"quota", true, true, nil, 1},
		{"neither", false, true, nil, 0},
	} {
		for mounting := range 3 {
			var asked atomic.Int64
			var seen outcomes
			slots := newPool(t, fairslots.Config{Capacity: 4})
			cfg := middleware.Config{
				Resolver: named, Slots: slots, Weights: c.weights, Observe: seen.observe,
				Operation: func(r *http.Request) string { // another name each time it is asked
					if who, ok := tenant.FromContext(r.Context()); !ok || who.ID != "acme" {
						t.Errorf("asked for the name of a request of %v", who)
					}
					return []string{"x1", "x2", "x3"}[asked.Add(1)-1]
				},
			}
			if c.quota {
				cfg.Quota = newLimiter(t, quota.Config{Costs: quota.Costs{"x1": 4}})
			}
			g := newGate(t, cfg)
			h := inside(func(context.Context) {
				if n := slots.Stats().InUse; n != max(c.weights["x1"], 1) {
					t.Errorf("%s: %d slots in use", c.name, n)
				}
			})
			get([]http.Handler{g.Handler(h), g.Tenant(g.Quota(g.Slots(h))), g.Tenant(g.Handler(g.Handler(h)))}[mounting], "acme", "/")
			if got := asked.Load(); got != c.want {
				t.Errorf("%s, mounting %d: the operation was named %d times, want %d", c.name, mounting, got, c.want)
			}
			out := seen.only(t)
			if named := out.Operation == "x1"; named != (c.want > 0) || c.quota && out.Decision.Cost != 4 {
				t.Errorf("%s: observed operation %q at a cost of %d", c.name, out.Operation, out.Decision.Cost)
			}
		}
	}
}

func TestWeights_CallWithinARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := newPool(t, fairslots.Config{Capacity: 4})
		g := newGate(t, middleware.Config{
			Resolver: named, Slots: slots, Operation: byPath, Weights: map[string]int{"/wide": 3, "/export": 2},
		})
		takes := func(want int) http.Handler {
			return g.Handler(inside(func(context.Context) {
				if n := slots.Stats().InUse; n != want {
					t.Errorf("%d slots in use, want %d", n, want)
				}
			}))
		}
		call := func(ctx context.Context, path string, slots int) {
			do(takes(slots), request("acme pro", path).WithContext(ctx))
		}
		get(g.Handler(inside(func(ctx context.Context) {
			call(ctx, "/wide", 2) // on the request's two, or it would wait for itself
			mustStream(t, ctx)    // which gives both back
			call(ctx, "/wide", 3)
			call(ctx, "/", 1)
		})), "acme pro", "/export")
		checkCalm(t, g, slots)
	})
}
