package middleware_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// roundTripper is a transport in memory.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// nowhere is the URL of a call that goes through a transport in memory.
const nowhere = "http://partner.example/"

// as is the context of a call by a tenant, on a tier of plans.
func as(t *testing.T, id, tier string) context.Context {
	return tenant.NewContext(t.Context(), tenant.Tenant{ID: id, Tier: tier})
}

// outbound is a call, a POST where a body is given.
func outbound(t *testing.T, ctx context.Context, url string, body io.Reader) *http.Request {
	t.Helper()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// closing is a body that counts how often it was closed.
type closing struct {
	io.Reader
	closed atomic.Int32
}

func (c *closing) Close() error { c.closed.Add(1); return nil }

// fetch sends r and returns the answer's whole body.
func fetch(t *testing.T, client *http.Client, r *http.Request) string {
	t.Helper()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestTransport_WhatIsNotAllowedIsNotSent(t *testing.T) {
	limiter := newLimiter(t, quota.Config{Costs: quota.Costs{"POST /all": 5, "POST /more": 6}})
	operation := func(name string) func(*http.Request) string { return func(*http.Request) string { return name } }
	if _, err := limiter.Take(t.Context(), tenant.Tenant{ID: "spender", Tier: "daily"}, "POST /all"); err != nil {
		t.Fatal(err)
	}
	full := newBulkhead(t, bulkhead.Config{Capacity: 1, MaxQueue: -1})
	release, err := full.Acquire(t.Context(), tenant.Tenant{ID: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	closed := newBulkhead(t, bulkhead.Config{Capacity: 1})
	closed.Close()
	over, cancel := context.WithCancel(as(t, "acme", "daily"))
	cancel()

	for _, c := range []struct {
		name      string
		ctx       context.Context
		transport middleware.Transport
		want      error // or
		reason    tenant.Reason
	}{
		{"no tenant", t.Context(), middleware.Transport{Quota: limiter, Slots: full}, middleware.ErrNoTenant, ""},
		{"no tenant and no limits", t.Context(), middleware.Transport{}, middleware.ErrNoTenant, ""},
		{"no ID", as(t, "", "daily"), middleware.Transport{}, tenant.ErrInvalidID, ""},
		{"bad ID", as(t, "../x", "daily"), middleware.Transport{Quota: limiter, Slots: full}, tenant.ErrInvalidID, ""},
		{"nothing left", as(t, "spender", "daily"), middleware.Transport{Quota: limiter}, nil, tenant.ReasonTenant},
		{"beyond the plan", as(t, "acme", "daily"),
			middleware.Transport{Quota: limiter, Operation: operation("POST /more")}, nil, tenant.ReasonPlan},
		{"no slot", as(t, "acme", "daily"), middleware.Transport{Quota: limiter, Slots: full}, nil, tenant.ReasonCapacity},
		{"pool closed", as(t, "acme", "daily"), middleware.Transport{Slots: closed}, nil, tenant.ReasonClosing},
		{"pool broken", as(t, "acme", "daily"), middleware.Transport{Slots: refusing(errBroken)}, errBroken, ""},
		{"over before quota", over, middleware.Transport{Quota: limiter}, context.Canceled, ""},
		{"over before slots", over, middleware.Transport{Slots: full}, context.Canceled, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.transport.Base = roundTripper(func(*http.Request) (*http.Response, error) {
				t.Error("the call was sent")
				return nil, errBroken
			})
			body := &closing{Reader: untouched{t}}
			_, direct := c.transport.RoundTrip(outbound(t, c.ctx, nowhere, body))
			if body.closed.Load() == 0 {
				t.Error("the request's body was not closed")
			}
			_, viaClient := (&http.Client{Transport: &c.transport}).Do(outbound(t, c.ctx, nowhere, nil))
			for _, err := range []error{direct, viaClient} {
				refusal, refused := errors.AsType[*tenant.Refusal](err)
				if c.want != nil && !errors.Is(err, c.want) || c.want == nil && (!refused || refusal.Reason != c.reason) {
					t.Errorf("got error %v, want %v or a refusal for %q", err, c.want, c.reason)
				}
			}
		})
	}
}

func TestTransport_PanicBeforeTheCallIsSentClosesTheRequestsBody(t *testing.T) {
	body := &closing{Reader: untouched{t}}
	transport := &middleware.Transport{
		Quota:     newLimiter(t, quota.Config{}),
		Operation: func(*http.Request) string { panic("boom") },
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = transport.RoundTrip(outbound(t, as(t, "acme", "free"), nowhere, body))
	}()
	if body.closed.Load() == 0 {
		t.Error("the request's body was not closed")
	}
}

func TestTransport_CostsWhatTheOperationSays(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Method+" "+string(body))
	}))
	tiers, err := tenant.NewTiers("ten", tenant.Tier{Name: "ten", Rate: 0, Burst: 10, Share: 1})
	if err != nil {
		t.Fatal(err)
	}
	limiter := newLimiter(t, quota.Config{Tiers: tiers, Costs: quota.Costs{"POST": 5}})
	all := &middleware.Transport{Quota: limiter, Base: s.Client().Transport}
	byMethod := &middleware.Transport{
		Quota:     limiter,
		Operation: func(r *http.Request) string { return r.Method },
		Base:      s.Client().Transport,
	}
	left := 10
	for _, c := range []struct {
		transport *middleware.Transport
		body      io.Reader
		cost      int
	}{
		{byMethod, strings.NewReader("x"), 5},
		{byMethod, nil, 1},
		{all, strings.NewReader("x"), 1},
	} {
		r := outbound(t, as(t, "acme", "ten"), s.URL, c.body)
		want := r.Method + " "
		if c.body != nil {
			want += "x"
		}
		if got := fetch(t, &http.Client{Transport: c.transport}, r); got != want {
			t.Errorf("the partner answered %q, want %q", got, want)
		}
		left -= c.cost
		if got := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "ten"}).Remaining; got != left {
			t.Errorf("%s: %d left, want %d", r.Method, got, left)
		}
	}
}

func TestTransport_RedirectsPayEachHopAndHoldOneSlotAtATime(t *testing.T) {
	pool := newBulkhead(t, bulkhead.Config{Capacity: 1, MaxQueue: -1}) // a second slot at a time would be refused
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := pool.Stats().InUse; n != 1 {
			t.Errorf("%s: %d slots in use, want 1", r.URL, n)
		}
		if hop, _ := strconv.Atoi(r.URL.Path[1:]); hop < 2 {
			http.Redirect(w, r, "/"+strconv.Itoa(hop+1), http.StatusTemporaryRedirect)
			return
		}
		io.WriteString(w, "arrived")
	}))
	limiter := newLimiter(t, quota.Config{})
	transport := &middleware.Transport{Quota: limiter, Slots: pool, Base: s.Client().Transport}
	r := outbound(t, as(t, "acme", "once"), s.URL+"/0", strings.NewReader("sent with each hop"))
	if got := fetch(t, &http.Client{Transport: transport}, r); got != "arrived" {
		t.Errorf("the partner answered %q", got)
	}
	if got := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "once"}).Remaining; got != 0 {
		t.Errorf("%d left of 3 after 3 hops, want 0", got)
	}
	if n := pool.Stats().InUse; n != 0 {
		t.Errorf("%d slots in use at the end", n)
	}
}
