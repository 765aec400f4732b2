// Oidc is a service behind a real identity provider: it finds the provider's keys by OpenID Connect Discovery, is ready
// once it has them, and logs why it refused a token.
//
//	go run ./example/oidc -issuer https://id.example.com/ -audience orders-api
//
// It serves on 127.0.0.1:8080, and prints a curl line for a token of the provider's. Well-known products need no Issuer
// literal as the one below: package provider has theirs (docs/providers.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// config is what the flags say.
type config struct{ address, issuer, audience, tenantClaim, algorithm string }

func main() {
	var c config
	flag.StringVar(&c.address, "addr", "127.0.0.1:8080", "where to listen")
	flag.StringVar(&c.issuer, "issuer", "", "the iss of the tokens, to the letter (required)")
	flag.StringVar(&c.audience, "audience", "", "this service, as the aud of the tokens has it (required)")
	flag.StringVar(&c.tenantClaim, "tenant-claim", "org_id",
		"the claim with the tenant's ID; o,id is id inside of o, and a dot is part of a name")
	flag.StringVar(&c.algorithm, "alg", "RS256", "the alg of the tokens")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "oidc:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It prints what to try to out, and logs to logs. What it opens is closed in reverse order,
// the resolver last: closed, it answers good tokens 503.
func run(ctx context.Context, c config, out, logs io.Writer) error {
	if c.issuer == "" || c.audience == "" {
		return errors.New("-issuer and -audience are required; -h lists the flags")
	}
	log := slog.New(slog.NewTextHandler(logs, nil))
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:      c.issuer,
		Audience:    c.audience,
		Algorithms:  []string{c.algorithm},
		Keys:        jwttenant.Discovery(jwttenant.JWKSConfig{Logger: log}),
		TenantClaim: strings.Split(c.tenantClaim, ","),
	}}})
	if err != nil {
		return err
	}
	defer resolver.Close()
	// Nothing says what plan a tenant has, so all have this one; Issuer.TierClaim or the gate's TierOf would.
	tiers, err := tenant.NewTiers("standard", tenant.Tier{Name: "standard", Rate: 10, Burst: 20, Share: 2})
	if err != nil {
		return err
	}
	slots, err := fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers})
	if err != nil {
		return err
	}
	defer slots.Close()
	limiter, err := quota.New(quota.Config{Tiers: tiers})
	if err != nil {
		return err
	}
	defer limiter.Close()
	gate, err := middleware.New(middleware.Config{Resolver: resolver, Quota: limiter, Slots: slots, Observe: logCause(log)})
	if err != nil {
		return err
	}
	defer gate.Close()

	handler, err := routes(resolver, gate)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.address)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "curl -H \"Authorization: Bearer $TOKEN\" http://%s/orders\n", listener.Addr())
	return serve(ctx, listener, handler, gate)
}

// routes are the API behind the gate, and beside it what has no tenant.
func routes(resolver *jwttenant.Resolver, gate *middleware.Gate) (http.Handler, error) {
	metrics := prometheus.NewRegistry()
	if err := metrics.Register(gate); err != nil {
		return nil, err
	}
	api := http.NewServeMux()
	api.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		t, _ := tenant.FromContext(r.Context())
		fmt.Fprintf(w, "the orders of %s\n", t.ID)
	})
	all := http.NewServeMux()
	all.Handle("/", gate.Handler(api))
	// They name tenants: a real service has them on a port that only its operators reach.
	all.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	all.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if resolver.Ready(r.Context()) != nil { // the resolver's Logger has said why
			http.Error(w, "not ready", http.StatusServiceUnavailable)
		}
	})
	return all, nil
}

// logCause returns a middleware.Config.Observe that logs why a request has no tenant. Its client is not told, and
// nothing out of the token is in it.
func logCause(log *slog.Logger) func(*http.Request, middleware.Outcome) {
	return func(r *http.Request, o middleware.Outcome) {
		switch o.Result {
		case middleware.Unauthenticated, middleware.Forbidden:
			log.WarnContext(r.Context(), "no tenant", "status", o.Status, "error", o.Err)
		}
	}
}

// serve serves until ctx ends, and then until the requests that run are done.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, gate *middleware.Gate) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      15 * time.Second, // longer than MaxWait (5 s) and the slowest handler together
		IdleTimeout:       time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(gate.Drain(ctx), server.Shutdown(ctx))
}
