package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestStream_RefusedKeepsItsSlotAndIsAnsweredByRefuse(t *testing.T) {
	for _, c := range []struct {
		who, reason, retry string
		status             int
		before             func(*middleware.Gate)
	}{
		{"acme free", "share", "1", 429, nothing},
		{"acme daily", "plan", "", 429, nothing},
		{"acme pro", "closing", "1", 503, (*middleware.Gate).Close},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen outcomes
				slots := newPool(t, fairslots.Config{Capacity: 2})
				g := newGate(t, middleware.Config{
					Resolver: named, Quota: newLimiter(t, quota.Config{}), Slots: slots, Observe: seen.observe,
				})
				end := make(chan struct{})
				go get(g.Handler(stream(end)), "acme free", "/")
				synctest.Wait()

				w := get(g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					c.before(g)
					err := middleware.Stream(r.Context())
					refusal, refused := errors.AsType[*tenant.Refusal](err)
					if !refused || string(refusal.Reason) != c.reason {
						t.Errorf("Stream: %v, want a refusal for %s", err, c.reason)
					}
					if st := slots.Stats(); st.InUse != 1 || st.Streams != 1 {
						t.Errorf("%d slots and %d streams in use after a refusal, want 1 and 1", st.InUse, st.Streams)
					}
					w.Header().Set("Content-Type", "text/event-stream")
					middleware.Refuse(w, r, err)
				})), c.who, "/")
				tier := strings.Fields(c.who)[1]
				doc := problemOf(t, w)
				if w.Code != c.status || doc.Reason != c.reason || doc.Tier != tier || w.Header().Get("Retry-After") != c.retry {
					t.Errorf("answer %d, Retry-After %q: %+v", w.Code, w.Header().Get("Retry-After"), doc)
				}
				close(end)
				synctest.Wait()

				out := seen.list()[0]
				if out.Result != middleware.Admitted || out.Reason != tenant.ReasonNone || out.Status != 0 || out.Err == nil {
					t.Errorf("observed %+v, want it admitted, and why it was no stream", out)
				}
				if got := value(t, g, "tenantgate_requests_total", "outcome", "admitted"); got != 2 {
					t.Errorf("%v requests admitted, want 2", got)
				}
				if got := value(t, g, "tenantgate_requests_total"); got != 2 {
					t.Errorf("%v requests counted, want 2", got)
				}
				checkCalm(t, g, slots)
			})
		})
	}
}

func TestRefuse_AnswersAsTheGateWould(t *testing.T) {
	share := &tenant.Refusal{Reason: tenant.ReasonShare, Tier: "free", Policy: "free", RetryAfter: time.Second}
	for _, c := range []struct {
		name   string
		leaves bool // the client, while its request is served
		err    error
		status int
		body   string // a part of it; "": there is none
	}{
		{"a refusal", false, share, 429, `"reason":"share"`},
		{"a refusal that is wrapped", false, fmt.Errorf("no: %w", share), 429, `"reason":"share"`},
		{"a deadline", false, context.DeadlineExceeded, 503, `"reason":"capacity"`},
		{"a client that left", true, context.Canceled, 200, ""},
		{"cancelled, but the client is there", false, context.Canceled, 500, `"Internal Server Error"`},
		{"anything else", false, errBroken, 500, `"Internal Server Error"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			g := newGate(t, middleware.Config{Resolver: named})
			w := do(g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.leaves {
					leave()
				}
				middleware.Refuse(w, r, c.err)
			})), request("acme", "/").WithContext(ctx))
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) || (w.Body.Len() == 0) != (c.body == "") {
				t.Errorf("status %d, want %d with %q: %s", w.Code, c.status, c.body, w.Body)
			}
			if strings.Contains(w.Body.String(), errBroken.Error()) {
				t.Errorf("the client sees the cause: %s", w.Body)
			}
		})
	}
}

// The unit is back in ten seconds, and a client that comes back after the second that Retry-After says must not be told
// otherwise.
func TestRefuse_LeavesOutAResetLaterThanRetryAfter(t *testing.T) {
	tiers, err := tenant.NewTiers("slow", tenant.Tier{Name: "slow", Rate: 0.1, Burst: 1, Share: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, middleware.Config{Resolver: named, Quota: newLimiter(t, quota.Config{Tiers: tiers}),
		Slots: newPool(t, fairslots.Config{Capacity: 1})})
	h := g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := w.Header().Get("RateLimit"); got != `"slow";r=0;t=10` {
			t.Errorf("before, RateLimit is %s", got)
		}
		middleware.Refuse(w, r, &tenant.Refusal{Reason: tenant.ReasonShare})
	}))
	if got := get(h, "acme", "/").Header(); got.Get("RateLimit") != `"slow";r=0` || got.Get("Retry-After") != "1" {
		t.Errorf("RateLimit is %s, Retry-After %s", got.Get("RateLimit"), got.Get("Retry-After"))
	}
}

func TestRefuse_UsesConfigRefuse(t *testing.T) {
	var told *tenant.Refusal
	g := newGate(t, middleware.Config{
		Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 1}),
		Refuse: func(w http.ResponseWriter, _ *http.Request, refusal *tenant.Refusal) {
			told = refusal
			w.WriteHeader(http.StatusTeapot)
		},
	})
	w := get(g.Handler(stream(nil)), "acme daily", "/")
	if w.Code != http.StatusTeapot || told == nil || told.Reason != tenant.ReasonPlan || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, Refuse was told %v", w.Code, told)
	}
}

func TestRefuse_OfASkippedRequestToo(t *testing.T) {
	g := newGate(t, middleware.Config{
		Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 1}), CapacityStatus: 529,
		Skip: func(*http.Request) bool { return true },
	})
	for _, err := range []error{&tenant.Refusal{Reason: tenant.ReasonCapacity}, context.DeadlineExceeded} {
		w := get(g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { middleware.Refuse(w, r, err) })), "", "/")
		if doc := problemOf(t, w); doc.Status != 529 || doc.Reason != "capacity" {
			t.Errorf("answered %+v", doc)
		}
	}
	if got := value(t, g, "tenantgate_requests_total", "outcome", "skipped"); got != 2 {
		t.Errorf("%v skipped, want 2", got)
	}
}

func TestRefuse_WithoutAGateIsTheServicesFault(t *testing.T) {
	w := httptest.NewRecorder()
	stream(nil).ServeHTTP(w, request("acme", "/"))
	if doc := problemOf(t, w); doc.Status != 500 {
		t.Errorf("answered %+v", doc)
	}
}
