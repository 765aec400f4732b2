package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tenantgate/tenantgate/internal/flood"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// plans returns the service's tiers. Those of the enterprise tier may send the whole flood at once.
func plans() (*tenant.Tiers, error) {
	return tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Share: 2, Quotas: tenant.Quotas{Day: 10_000}},
		tenant.Tier{Name: "pro", Rate: 20, Burst: 60, Share: 4},
		tenant.Tier{Name: "enterprise", Rate: 500, Burst: 1000, Share: flood.Share},
	)
}

// costs are what operations cost more than a unit.
var costs = quota.Costs{"GET /search": 5}

// api is the service: an HTTP server whose requests pass a gate.
type api struct {
	server *http.Server
	gate   *middleware.Gate
	quota  *quota.Limiter
}

// newAPI returns the service. issuer is whose tokens say who a tenant is.
func newAPI(issuer jwttenant.Issuer, tiers *tenant.Tiers, slots middleware.Slots) (*api, error) {
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer}})
	if err != nil {
		return nil, err
	}
	limiter, err := quota.New(quota.Config{
		Tiers:  tiers,
		Costs:  costs,
		Global: quota.Rate{PerSecond: 2000, Burst: 2000},
	})
	if err != nil {
		return nil, err
	}

	router := chi.NewRouter()
	gate, err := middleware.New(middleware.Config{
		Resolver:  resolver,
		Quota:     limiter,
		Slots:     slots,
		Operation: middleware.ChiPattern(router),
		Skip:      func(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/metrics" },
	})
	if err != nil {
		return nil, err
	}
	metrics := prometheus.NewRegistry()
	if err := metrics.Register(gate); err != nil {
		return nil, err
	}

	router.Use(gate.Handler)
	router.Get("/work", work)
	router.Get("/search", work)
	router.Get("/whoami", whoami)
	router.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	// They name tenants: a real service has them on a port that only its operators reach.
	router.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))

	if err := middleware.CheckCosts(router, costs); err != nil {
		return nil, err
	}

	server := &http.Server{
		Handler:           router,
		ReadHeaderTimeout: 5 * time.Second,
		// The time in the queue counts too: this has to be longer than MaxWait (5 s) and the slowest handler together.
		WriteTimeout: 15 * time.Second,
		IdleTimeout:  time.Minute,
	}
	return &api{server: server, gate: gate, quota: limiter}, nil
}

// work does what a request of the flood is there for.
func work(w http.ResponseWriter, r *http.Request) {
	done := time.NewTimer(flood.Hold)
	defer done.Stop()
	select {
	case <-done.C:
	case <-r.Context().Done():
		return
	}
	whoami(w, r)
}

// whoami answers with the tenant and the plan that was applied. The gate lets no request pass without a tenant.
func whoami(w http.ResponseWriter, r *http.Request) {
	t, _ := tenant.FromContext(r.Context())
	fmt.Fprintln(w, t)
}

// serve answers requests on l until ctx ends, and then finishes those that it has begun.
func (a *api) serve(ctx context.Context, l net.Listener) error {
	defer a.quota.Close()
	served := make(chan error, 1)
	go func() { served <- a.server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	// First the gate: what comes in from now on is told to go elsewhere, rather than left without an answer.
	return errors.Join(a.gate.Drain(ctx), a.server.Shutdown(ctx))
}
