package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// service answers behind a gate, with what a partner says.
type service struct {
	handler  http.Handler
	gate     *middleware.Gate
	resolver *jwttenant.Resolver
	partner  *partnerClient
	jobs     sync.WaitGroup
	log      *slog.Logger
}

// newService returns a service that asks the partner at url. issuer is whose tokens say who a tenant is.
func newService(url string, issuer jwttenant.Issuer, log *slog.Logger) (*service, error) {
	partner, err := newPartnerClient(url)
	if err != nil {
		return nil, err
	}
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer}})
	if err != nil {
		return nil, err
	}
	gate, err := middleware.New(middleware.Config{Resolver: resolver}) // Quota and Slots: see the other examples
	if err != nil {
		return nil, err
	}
	s := &service{gate: gate, resolver: resolver, partner: partner, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /quote", s.quote)
	mux.HandleFunc("POST /reports", s.report)
	s.handler = gate.Handler(mux)
	return s, nil
}

// close waits for the jobs.
func (s *service) close() {
	s.gate.Close()
	s.resolver.Close()
	s.jobs.Wait()
	s.partner.close()
}

// quote passes on what the partner says. Where the tenant's limits there refuse the call, the answer is as if the gate
// had refused the request.
func (s *service) quote(w http.ResponseWriter, r *http.Request) {
	quote, err := s.partner.fetch(r.Context(), "/quote")
	if err != nil {
		middleware.Refuse(w, r, err)
		return
	}
	io.WriteString(w, quote)
}

// report starts a job. Of the request's context it keeps the tenant only: so it goes on when the request is over, but
// calls the partner as that tenant, within the same limits, and its log lines say whose it is.
func (s *service) report(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(tenant.Detach(r.Context()), time.Minute)
	s.jobs.Go(func() {
		defer cancel()
		s.writeReport(ctx)
	})
	w.WriteHeader(http.StatusAccepted)
	io.WriteString(w, "the report is being written")
}

// writeReport is the job. One that has time would wait for as long as the refusal says, and try again.
func (s *service) writeReport(ctx context.Context) {
	log := s.log.WithGroup("report")
	for page := 1; page <= 3; page++ {
		text, err := s.partner.fetch(ctx, fmt.Sprintf("/archive/%d", page))
		if refusal, ok := errors.AsType[*tenant.Refusal](err); ok {
			wait := refusal.RetryAfter.Round(time.Minute)
			log.WarnContext(ctx, "refused", "page", page, "reason", refusal.Reason, "wait", wait)
			return
		}
		if err != nil {
			log.ErrorContext(ctx, "failed", "page", page, "error", err)
			return
		}
		log.InfoContext(ctx, "fetched", "page", page, "text", text)
	}
}

// partnerClient calls the partner within the limits of the tenant in the context of each call.
type partnerClient struct {
	url   string
	http  *http.Client
	quota *quota.Limiter
	slots *bulkhead.Bulkhead
}

func newPartnerClient(url string) (*partnerClient, error) {
	// What the partner allows us, divided among our tenants by their plans; apart from what they may ask of us.
	tiers, err := tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 1.0 / 60, Burst: 4, Share: 1},
		tenant.Tier{Name: "pro", Rate: 1, Burst: 20, Share: 3},
	)
	if err != nil {
		return nil, err
	}
	limiter, err := quota.New(quota.Config{Tiers: tiers})
	if err != nil {
		return nil, err
	}
	// Not the gate's pool: a request that held one of its slots might wait for itself. Nobody waits here, for the story
	// to be short; leave MaxQueue out.
	slots, err := bulkhead.New(bulkhead.Config{Capacity: 4, Tiers: tiers, MaxQueue: -1})
	if err != nil {
		return nil, err
	}
	return &partnerClient{
		url: url,
		http: &http.Client{Transport: &middleware.Transport{
			Quota: limiter,
			Slots: slots,
			Base:  &tenant.Transport{Hosts: []string{url}}, // tells the partner, and nobody else, whose call it is
		}},
		quota: limiter,
		slots: slots,
	}, nil
}

// fetch returns what the partner answers at path. It gives the slot back by closing the body.
func (p *partnerClient) fetch(ctx context.Context, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := p.http.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the partner answers %s", answer.Status)
	}
	return string(text), err
}

func (p *partnerClient) close() {
	p.slots.Close()
	p.quota.Close()
	p.http.CloseIdleConnections()
}
