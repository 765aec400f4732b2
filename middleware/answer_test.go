package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// failingStore is a store that is down.
type failingStore struct{ quota.Store }

func (failingStore) Take(context.Context, quota.Rules, []quota.Call) error { return errBroken }
func (failingStore) Close() error                                          { return nil }

// times sends n requests and returns the answer to the last.
func times(n int, h http.Handler, who, path string) (w *httptest.ResponseRecorder) {
	for range n {
		w = get(h, who, path)
	}
	return w
}

// whileBusy returns the answer to a request that comes while n others of the same tenant run or wait.
func whileBusy(t *testing.T, n int, who string, slots middleware.Slots, before func(*middleware.Gate)) *httptest.ResponseRecorder {
	g := newGate(t, middleware.Config{Resolver: named, Slots: slots})
	goOn := make(chan struct{})
	for range n {
		go get(g.Handler(busy(goOn)), who, "/")
	}
	synctest.Wait()
	before(g)
	w := get(g.Handler(ok), "acme free", "/")
	close(goOn)
	synctest.Wait()
	return w
}

func nothing(*middleware.Gate) {}

// Each row of the table of refusals, by the limiter and the pools that cause it.
func TestRefusal_EachReason(t *testing.T) {
	limited := func(t *testing.T, cfg quota.Config) http.Handler {
		g := newGate(t, middleware.Config{
			Resolver: named, Quota: newLimiter(t, cfg), Operation: func(r *http.Request) string { return r.URL.Path },
		})
		return g.Handler(ok)
	}
	for _, c := range []struct {
		want problemDocument
		act  func(t *testing.T) *httptest.ResponseRecorder
	}{
		{problemDocument{quotaExceeded, "Quota exceeded", "tenant", "free", "free", 429, 1, []string{"free"}},
			func(t *testing.T) *httptest.ResponseRecorder {
				return times(11, limited(t, quota.Config{}), "acme free", "/")
			}},
		{problemDocument{quotaExceeded, "Quota exceeded", "tenant", "once", "once", 429, 0, []string{"once"}}, // rate 0: never
			func(t *testing.T) *httptest.ResponseRecorder {
				return times(4, limited(t, quota.Config{}), "acme once", "/")
			}},
		{problemDocument{quotaExceeded, "Quota exceeded", "window", "daily", "day", 429, 86399, []string{"day"}},
			func(t *testing.T) *httptest.ResponseRecorder {
				h := limited(t, quota.Config{})
				time.Sleep(time.Second)
				for range 10 {
					get(h, "acme pro", "/") // the window is the tenant's, whatever the tier
				}
				return get(h, "acme daily", "/")
			}},
		{problemDocument{quotaExceeded, "Quota exceeded", "plan", "free", "free", 429, 0, []string{"free"}},
			func(t *testing.T) *httptest.ResponseRecorder {
				return get(limited(t, quota.Config{Costs: quota.Costs{"/dear": 11}}), "acme free", "/dear")
			}},
		{problemDocument{quotaExceeded, "Quota exceeded", "global", "free", "cluster", 429, 10, []string{"cluster"}},
			func(t *testing.T) *httptest.ResponseRecorder {
				return times(2, limited(t, quota.Config{Global: quota.Rate{PerSecond: 0.1, Burst: 1}}), "acme free", "/")
			}},
		{problemDocument{quotaExceeded, "Quota exceeded", "share", "free", "free", 429, 1, []string{"free"}},
			func(t *testing.T) *httptest.ResponseRecorder {
				return whileBusy(t, 3, "acme free", newBulkhead(t, bulkhead.Config{Capacity: 9, MaxQueue: 1}), nothing)
			}},
		{problemDocument{reducedCapacity, "Service at capacity", "capacity", "free", "free", 503, 1, []string{"free"}},
			func(t *testing.T) *httptest.ResponseRecorder {
				return whileBusy(t, 1, "globex free", newPool(t, fairslots.Config{Capacity: 1, MaxWait: time.Second}), nothing)
			}},
		{problemDocument{reducedCapacity, "Service closing", "closing", "free", "free", 503, 1, []string{"free"}},
			func(t *testing.T) *httptest.ResponseRecorder {
				return whileBusy(t, 1, "globex free", newPool(t, fairslots.Config{Capacity: 2}), (*middleware.Gate).Close)
			}},
		{problemDocument{reducedCapacity, "Service unavailable", "unavailable", "free", "", 503, 1, nil},
			func(t *testing.T) *httptest.ResponseRecorder {
				return get(limited(t, quota.Config{Store: failingStore{quota.NewMemory(nil)}}), "acme free", "/")
			}},
	} {
		t.Run(c.want.Reason+" "+c.want.Tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := c.act(t)
				if diff := cmp.Diff(c.want, problemOf(t, w)); diff != "" {
					t.Errorf("problem document (-want +got):\n%s", diff)
				}
				wantRetry := ""
				if c.want.RetryAfter > 0 {
					wantRetry = strconv.Itoa(c.want.RetryAfter)
				}
				if got := w.Header().Get("Retry-After"); got != wantRetry {
					t.Errorf("Retry-After is %q, want %q", got, wantRetry)
				}
				if got := w.Header().Get("Cache-Control"); got != "no-store" {
					t.Errorf("Cache-Control is %q", got)
				}
				if got := w.Header().Get("Connection"); got != "" {
					t.Errorf("Connection is %q: that would end an HTTP/2 connection", got)
				}
			})
		})
	}
}

func TestRefusal_RetryAfterIsKept(t *testing.T) {
	for _, tier := range []tenant.Tier{
		{Name: "fast", Rate: 10, Burst: 1}, {Name: "slow", Rate: 0.3, Burst: 2},
		{Name: "odd", Rate: 7.77, Burst: 3}, {Name: "rare", Rate: 0.01, Burst: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			tiers, err := tenant.NewTiers(tier.Name, tier)
			if err != nil {
				t.Fatal(err)
			}
			h := newGate(t, middleware.Config{Resolver: named, Quota: newLimiter(t, quota.Config{Tiers: tiers})}).Handler(ok)
			for round := range 5 {
				w := get(h, "acme", "/")
				for w.Code == 200 {
					w = get(h, "acme", "/")
				}
				after := w.Header().Get("Retry-After")
				if !regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(after) {
					t.Fatalf("%s: Retry-After is %q", tier.Name, after)
				}
				seconds, _ := strconv.Atoi(after)
				time.Sleep(time.Duration(seconds) * time.Second)
				if w := get(h, "acme", "/"); w.Code != 200 {
					t.Errorf("%s, round %d: after %d s the answer is %d", tier.Name, round, seconds, w.Code)
				}
			}
		})
	}
}

func TestRefusal_SpreadIsAdditiveAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(t, quota.Config{})
		h := newGate(t, middleware.Config{Resolver: named, Quota: limiter, RetrySpread: 3 * time.Second}).Handler(ok)
		times(10, h, "acme", "/")
		seen := map[int]bool{}
		for range 200 {
			w := get(h, "acme", "/")
			doc := problemOf(t, w)
			if w.Header().Get("Retry-After") != strconv.Itoa(doc.RetryAfter) {
				t.Fatalf("header %s, body %d", w.Header().Get("Retry-After"), doc.RetryAfter)
			}
			seen[doc.RetryAfter] = true
		}
		if want := map[int]bool{1: true, 2: true, 3: true, 4: true}; !cmp.Equal(seen, want) {
			t.Errorf("values %v, want 1 to 4", seen)
		}
	})
}

func TestRefusal_StatusesCanBeChosen(t *testing.T) {
	g := func(reason tenant.Reason) *httptest.ResponseRecorder {
		gate := newGate(t, middleware.Config{
			Resolver: named, Slots: refusing(&tenant.Refusal{Reason: reason}), CapacityStatus: 429, ClosingStatus: 502,
		})
		return get(gate.Handler(ok), "acme", "/")
	}
	if w := g(tenant.ReasonCapacity); problemOf(t, w).Status != 429 {
		t.Errorf("capacity: %d", w.Code)
	}
	if w := g(tenant.ReasonClosing); problemOf(t, w).Status != 502 {
		t.Errorf("closing: %d", w.Code)
	}
}

func TestRefusal_HeadHasNoBody(t *testing.T) {
	h := newGate(t, middleware.Config{Resolver: named, Quota: newLimiter(t, quota.Config{})}).Handler(ok)
	times(10, h, "acme", "/")
	r := request("acme", "/")
	r.Method = http.MethodHead
	if w := do(h, r); w.Code != 429 || w.Body.Len() != 0 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
}

func TestRefuse_WritesTheAnswerInstead(t *testing.T) {
	for _, c := range []struct{ path, retry string }{{"/", "1"}, {"/dear", ""}} {
		var seen outcomes
		g := newGate(t, middleware.Config{
			Resolver: named, Quota: newLimiter(t, quota.Config{Costs: quota.Costs{"/dear": 11}}), Observe: seen.observe,
			Operation: func(r *http.Request) string { return r.URL.Path },
			Refuse: func(w http.ResponseWriter, r *http.Request, refusal *tenant.Refusal) {
				who, _ := tenant.FromContext(r.Context())
				w.WriteHeader(http.StatusTeapot)
				h := w.Header()
				fmt.Fprint(w, who, " ", refusal.Reason, " ", refusal.RetryAfter > 0, " ", h.Get("Retry-After"), " ", h.Get("X-RateLimit-Limit"))
			},
		})
		h := g.Handler(ok)
		if c.path == "/" {
			times(10, h, "acme", "/")
		}
		w := get(h, "acme", c.path)
		reason := map[string]string{"/": "tenant true 1 10", "/dear": "plan false  10"}[c.path]
		if w.Code != http.StatusTeapot || w.Body.String() != "acme (free) "+reason || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %q %v", c.path, w.Code, w.Body, w.Header())
		}
		all := seen.list()
		if out := all[len(all)-1]; out.Status != 0 || out.Result != middleware.Refused {
			t.Errorf("%s: observed %s, status %d", c.path, out.Result, out.Status)
		}
		if w := get(h, "", "/"); w.Code != 401 {
			t.Errorf("Refuse answered a request without credential: %d", w.Code)
		}
	}
}

func TestObserve_TellsWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := plans(t)
		var seen outcomes
		g := newGate(t, middleware.Config{
			Resolver: named, Quota: newLimiter(t, quota.Config{Tiers: tiers, Costs: quota.Costs{"read": 2}}),
			Slots:     newPool(t, fairslots.Config{Capacity: 1, Tiers: tiers, MaxWait: time.Second}),
			Operation: func(*http.Request) string { return "read" },
			Observe:   seen.observe,
		})
		h := g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Second) }))
		go get(h, "globex", "/")
		synctest.Wait()
		get(h, "acme", "/")
		time.Sleep(time.Minute)
		refused, admitted := seen.list()[0], seen.list()[1]
		if admitted.Tenant.String() != "globex (free)" || admitted.Result != middleware.Admitted || admitted.Operation != "read" ||
			admitted.Decision.Cost != 2 || admitted.Wait != 0 || admitted.Status != 0 || admitted.Err != nil {
			t.Errorf("admitted: %+v", admitted)
		}
		var refusal *tenant.Refusal
		if refused.Result != middleware.Refused || refused.Reason != tenant.ReasonCapacity || refused.Wait != time.Second ||
			refused.Status != 503 || !errors.As(refused.Err, &refusal) || refused.Decision.Remaining != 10 {
			t.Errorf("refused: %+v", refused)
		}
	})
}
