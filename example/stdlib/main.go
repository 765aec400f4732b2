// Stdlib puts a gate around the standard library's ServeMux, and an access log around the gate: each of its lines has
// the tenant and what became of the request, also of one that the gate turned away.
//
//	go run ./example/stdlib             serves on 127.0.0.1:8080, and prints a curl line
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
	"syscall"
	"time"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

func main() {
	address := flag.String("addr", "127.0.0.1:8080", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "stdlib:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It prints what to try to out, and writes the access log to logs.
func run(ctx context.Context, address string, out, logs io.Writer) error {
	identities := jwttest.New(jwttenant.Issuer{}) // stands in for the identity provider
	service, err := newService(ctx, identities.Config(), slog.New(slog.NewJSONHandler(logs, nil)))
	if err != nil {
		return err
	}
	defer service.close()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	token := identities.Token(tenant.Tenant{ID: "acme", Tier: "free"})
	fmt.Fprintf(out, "curl -i -H 'Authorization: Bearer %s' 'http://%s/orders/1'\n", token, listener.Addr())

	server := &http.Server{
		Handler:           service.handler,
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
	return errors.Join(service.gate.Drain(ctx), server.Shutdown(ctx))
}

// service is the access log around the gate around the routes.
type service struct {
	handler http.Handler
	gate    *middleware.Gate
	limiter *quota.Limiter
}

// newService returns a service, whose streams end with ctx. issuer is whose tokens say who a tenant is.
func newService(ctx context.Context, issuer jwttenant.Issuer, log *slog.Logger) (*service, error) {
	tiers, err := tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 1, Burst: 5, Share: 1, Streams: 1},
		tenant.Tier{Name: "pro", Rate: 20, Burst: 60, Share: 4, Streams: 20},
	)
	if err != nil {
		return nil, err
	}
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer}})
	if err != nil {
		return nil, err
	}
	limiter, err := quota.New(quota.Config{Tiers: tiers, Costs: quota.Costs{"POST /exports": 2}})
	if err != nil {
		return nil, err
	}
	slots, err := bulkhead.New(bulkhead.Config{Capacity: 8, Tiers: tiers})
	if err != nil {
		return nil, err
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		t, _ := tenant.FromContext(r.Context())
		fmt.Fprintf(w, "order %s of %s\n", r.PathValue("id"), t.ID)
	})
	mux.HandleFunc("GET /clock", clock(ctx))
	mux.HandleFunc("POST /exports", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })

	gate, err := middleware.New(middleware.Config{
		Resolver:  resolver,
		Quota:     limiter,
		Slots:     slots,
		Operation: middleware.MuxPattern(mux),
		Weights:   map[string]int{"POST /exports": 3}, // an export keeps the database as busy as three other requests
		Observe:   observe,
	})
	if err != nil {
		return nil, err
	}
	return &service{accessLog(log, gate.Handler(mux)), gate, limiter}, nil
}

func (s *service) close() {
	s.gate.Close()
	s.limiter.Close()
}
