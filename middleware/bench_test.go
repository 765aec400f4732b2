package middleware_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// sink is a writer that costs nothing but its headers.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header                   { return s.header }
func (*sink) Write(b []byte) (int, error)             { return len(b), nil }
func (*sink) WriteHeader(int)                         {}
func newSink() *sink                                  { return &sink{http.Header{}} }
func (s *sink) serve(h http.Handler, r *http.Request) { clear(s.header); h.ServeHTTP(s, r) }

// benchGate is the whole gate for one tenant, with a real limiter and a real pool.
func benchGate(b *testing.B, tier tenant.Tier, change func(*middleware.Config)) *middleware.Gate {
	tiers, err := tenant.NewTiers(tier.Name, tier)
	if err != nil {
		b.Fatal(err)
	}
	who := tenant.Tenant{ID: "acme", Tier: tier.Name, TierAsOf: time.Unix(1, 0)}
	cfg := middleware.Config{
		Resolver: resolverFunc(func(*http.Request) (tenant.Tenant, error) { return who, nil }),
		Quota:    newLimiter(b, quota.Config{Tiers: tiers}), Slots: newPool(b, fairslots.Config{Capacity: 64, Tiers: tiers}),
	}
	if change != nil {
		change(&cfg)
	}
	return newGate(b, cfg)
}

var (
	plenty = tenant.Tier{Name: "plenty", Rate: 1e12, Burst: 1e9, Share: 64}
	none   = tenant.Tier{Name: "none", Rate: 0, Burst: 1, Share: 64}
)

func BenchmarkGate(b *testing.B) {
	r := httptest.NewRequest(http.MethodGet, "/orders/7", nil)
	run := func(b *testing.B, h http.Handler) {
		b.ReportAllocs()
		w := newSink()
		w.serve(h, r)
		for b.Loop() {
			w.serve(h, r)
		}
	}
	b.Run("admitted", func(b *testing.B) { run(b, benchGate(b, plenty, nil).Handler(ok)) })
	b.Run("admitted/no-headers", func(b *testing.B) {
		run(b, benchGate(b, plenty, func(c *middleware.Config) { c.RateHeaders = middleware.NoRateHeaders }).Handler(ok))
	})
	b.Run("admitted/pieces", func(b *testing.B) {
		g := benchGate(b, plenty, nil)
		run(b, g.Tenant(g.Quota(g.Slots(ok))))
	})
	b.Run("admitted/twice", func(b *testing.B) { g := benchGate(b, plenty, nil); run(b, g.Handler(g.Handler(ok))) })
	b.Run("refused", func(b *testing.B) { run(b, benchGate(b, none, nil).Handler(ok)) })
	b.Run("chi/bare", func(b *testing.B) { run(b, benchRouter(nil)) })
	b.Run("chi/admitted", func(b *testing.B) {
		run(b, benchRouter(func(r chi.Router) {
			r.Use(benchGate(b, plenty, func(c *middleware.Config) { c.Operation = middleware.ChiPattern(r) }).Handler)
		}))
	})
}

func benchRouter(use func(chi.Router)) http.Handler {
	r := chi.NewRouter()
	if use != nil {
		use(r)
	}
	r.Get("/orders/{id}", ok)
	r.Route("/api", func(r chi.Router) { r.Get("/search/{what}", ok) })
	return r
}

func BenchmarkGate_Parallel(b *testing.B) {
	for name, tier := range map[string]tenant.Tier{"admitted": plenty, "refused": none} {
		b.Run(name, func(b *testing.B) {
			h := benchGate(b, tier, nil).Handler(ok)
			newSink().serve(h, httptest.NewRequest(http.MethodGet, "/", nil))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				w, r := newSink(), httptest.NewRequest(http.MethodGet, "/", nil)
				for pb.Next() {
					w.serve(h, r)
				}
			})
		})
	}
}

func BenchmarkOperation(b *testing.B) {
	mux := http.NewServeMux()
	mux.Handle("GET /orders/{id}", ok)
	mux.Handle("GET /api/search/{what}", ok)
	router := benchRouter(nil).(chi.Router)
	for name, operation := range map[string]func(*http.Request) string{
		"chi": middleware.ChiPattern(router), "mux": middleware.MuxPattern(mux),
	} {
		for _, path := range []string{"/orders/7", "/api/search/socks"} {
			b.Run(name+path, func(b *testing.B) {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				b.ReportAllocs()
				for b.Loop() {
					operation(r)
				}
			})
		}
	}
}

// A scrape with 100,000 tenants, of whom 50 have metrics of their own.
func BenchmarkCollect(b *testing.B) {
	g := newGate(b, middleware.Config{Resolver: named, Slots: newPool(b, fairslots.Config{Capacity: 4})})
	h := g.Handler(ok)
	for i := range 100_000 {
		get(h, fmt.Sprintf("t%d free", i), "/")
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(g)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
