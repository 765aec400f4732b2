package middleware_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

// service is the whole chain as a user builds it, with tokens to try it with.
type service struct {
	http.Handler
	issuer *jwttest.Issuer
	slots  *fairslots.Pool
}

// newService builds the chain around a router of either kind; GET /orders/{id} answers with the tenant's tier.
func newService(t *testing.T, router string) *service {
	t.Helper()
	issuer := jwttest.New(jwttenant.Issuer{TierClaim: []string{"plan"}})
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer.Config()}})
	if err != nil {
		t.Fatal(err)
	}
	tiers, err := tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Share: 2},
		tenant.Tier{Name: "enterprise", Rate: 100, Burst: 300, Share: 20})
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := quota.New(quota.Config{Tiers: tiers, Costs: quota.Costs{"GET /exports/{id}": 11}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(limiter.Close)
	slots, err := fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slots.Close)

	handler := func(w http.ResponseWriter, r *http.Request) {
		who, _ := tenant.FromContext(r.Context())
		fmt.Fprint(w, who)
	}
	s := &service{issuer: issuer, slots: slots}
	cfg := middleware.Config{Resolver: resolver, Quota: limiter, Slots: slots}
	if router == "chi" {
		r := chi.NewRouter()
		cfg.Operation = middleware.ChiPattern(r)
		r.Use(newGate(t, cfg).Handler)
		r.Get("/orders/{id}", handler)
		r.Get("/exports/{id}", handler)
		s.Handler = r
	} else {
		mux := http.NewServeMux()
		cfg.Operation = middleware.MuxPattern(mux)
		mux.HandleFunc("GET /orders/{id}", handler)
		mux.HandleFunc("GET /exports/{id}", handler)
		s.Handler = newGate(t, cfg).Handler(mux)
	}
	return s
}

func newGate(t testing.TB, cfg middleware.Config) *middleware.Gate {
	t.Helper()
	g, err := middleware.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (s *service) get(path string, t tenant.Tenant) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, s.issuer.Authorize(httptest.NewRequest(http.MethodGet, path, nil), t))
	return w
}

// eachRouter runs a test in virtual time with either router.
func eachRouter(t *testing.T, test func(*testing.T, *service)) {
	t.Helper()
	for _, router := range []string{"chi", "ServeMux"} {
		t.Run(router, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newService(t, router)) })
		})
	}
}

// problemDocument is the body of a refusal as a client reads it.
type problemDocument struct {
	Type, Title, Reason, Tier, Limit string
	Status                           int
	RetryAfter                       int      `json:"retry_after"`
	Violated                         []string `json:"violated-policies"`
}

func TestGate_FreeTenantIsLimitedAndEnterpriseIsNot(t *testing.T) {
	eachRouter(t, func(t *testing.T, s *service) {
		free, big := tenant.Tenant{ID: "acme", Tier: "free"}, tenant.Tenant{ID: "globex", Tier: "enterprise"}
		var refused []*httptest.ResponseRecorder
		for range 11 {
			if w := s.get("/orders/1", free); w.Code != http.StatusOK {
				refused = append(refused, w)
			}
			if w := s.get("/orders/1", big); w.Code != http.StatusOK {
				t.Errorf("enterprise got %d %s", w.Code, w.Body)
			}
		}
		if len(refused) != 1 || refused[0].Code != http.StatusTooManyRequests {
			t.Fatalf("of 11 requests at once %d were refused, want one with 429", len(refused))
		}
		w := refused[0]
		var got problemDocument
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := problemDocument{
			Type: "https://iana.org/assignments/http-problem-types#quota-exceeded", Title: "Quota exceeded",
			Reason: "tenant", Tier: "free", Limit: "free", Status: 429, RetryAfter: 1, Violated: []string{"free"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("problem document (-want +got):\n%s", diff)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/problem+json", "Cache-Control": "no-store", "Retry-After": "1",
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": strconv.FormatInt(time.Now().Unix()+5, 10),
			"RateLimit-Policy":  `"free";q=10;w=5`, "RateLimit": `"free";r=0;t=1`,
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		time.Sleep(time.Second) // exactly Retry-After
		if w := s.get("/orders/1", free); w.Code != http.StatusOK {
			t.Errorf("after Retry-After the answer is %d %s", w.Code, w.Body)
		}
	})
}

func TestGate_CostAboveThePlanHasNoRetryAfter(t *testing.T) {
	eachRouter(t, func(t *testing.T, s *service) {
		w := s.get("/exports/1", tenant.Tenant{ID: "acme", Tier: "free"})
		if w.Code != http.StatusTooManyRequests || w.Header()["Retry-After"] != nil {
			t.Errorf("answer is %d with Retry-After %q, want 429 without", w.Code, w.Header()["Retry-After"])
		}
		if got := w.Header().Get("X-RateLimit-Remaining"); got != "10" {
			t.Errorf("X-RateLimit-Remaining is %s, want 10: nothing was spent", got)
		}
	})
}

func TestGate_WhatReachesNoHandlerIsNotFree(t *testing.T) {
	eachRouter(t, func(t *testing.T, s *service) {
		asks := preflight()
		asks.URL.Path = "/orders/1"
		for i, r := range []*http.Request{
			httptest.NewRequest(http.MethodHead, "/orders/1", nil),
			httptest.NewRequest(http.MethodOptions, "/orders/1", nil),
			asks, // costs like any other where Config.SkipPreflights is not set
			httptest.NewRequest(http.MethodGet, "/nothing/here", nil),
			httptest.NewRequest(http.MethodDelete, "/orders/1", nil),
		} {
			w := do(s, s.issuer.Authorize(r, tenant.Tenant{ID: "acme", Tier: "free"}))
			if got, want := w.Header().Get("X-RateLimit-Remaining"), strconv.Itoa(9-i); got != want {
				t.Errorf("after %s %s %s units are left, want %s", r.Method, r.URL, got, want)
			}
		}
		r := httptest.NewRequest(http.MethodHead, "/exports/1", nil)
		if w := do(s, s.issuer.Authorize(r, tenant.Tenant{ID: "globex", Tier: "free"})); w.Code != http.StatusTooManyRequests {
			t.Errorf("HEAD of what costs more than the plan allows: %d, want 429 as for GET", w.Code)
		}
	})
}

func TestGate_HandlerSeesTenantAndAppliedTier(t *testing.T) {
	eachRouter(t, func(t *testing.T, s *service) {
		for _, tt := range []struct {
			asserted tenant.Tenant
			want     string
		}{
			{tenant.Tenant{ID: "a", Tier: "enterprise"}, "a (enterprise)"},
			{tenant.Tenant{ID: "b", Tier: "gold"}, "b (free)"}, // a plan that nobody configured
			{tenant.Tenant{ID: "c"}, "c (free)"},
		} {
			if w := s.get("/orders/1", tt.asserted); w.Body.String() != tt.want {
				t.Errorf("%v: the handler saw %q, want %q", tt.asserted, w.Body, tt.want)
			}
		}
		if n := s.slots.Stats().InUse; n != 0 {
			t.Errorf("%d slots are in use at the end", n)
		}
	})
}
