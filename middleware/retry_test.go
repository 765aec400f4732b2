package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// A middleware between quota and slots may try again what slots refused. The refusal has given the cost back, so each
// further try pays anew: what runs is paid for, once.
func TestSlots_ARequestThatTriesAgainPaysAgain(t *testing.T) {
	for _, tt := range []struct {
		name      string
		blocker   string
		remaining int // of 10 units and 10 a day, once the request has run
		day       int64
	}{
		{"refused for capacity, and given all back", "globex", 9, 9},
		{"refused for its own share, and given back the day's", "acme", 8, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Burst: 10, Share: 1, Quotas: tenant.Quotas{Day: 10}})
			if err != nil {
				t.Fatal(err)
			}
			limiter := newLimiter(t, quota.Config{Tiers: tiers})
			slots := newPool(t, fairslots.Config{Capacity: 1, Tiers: tiers, MaxQueue: -1})
			var seen outcomes
			g := newGate(t, middleware.Config{Resolver: named, Quota: limiter, Slots: slots, Observe: seen.observe})
			release, ok := slots.TryAcquire(tenant.Tenant{ID: tt.blocker})
			if !ok {
				t.Fatal("no slot")
			}
			runs := 0
			inner := g.Slots(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runs++ }))
			again := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				inner.ServeHTTP(httptest.NewRecorder(), r)
				release()
				inner.ServeHTTP(w, r)
			})
			if w := get(g.Tenant(g.Quota(again)), "acme free", "/"); w.Code != http.StatusOK || runs != 1 {
				t.Errorf("status %d after %d runs, want 200 after one", w.Code, runs)
			}
			d := remaining(t, limiter, tenant.Tenant{ID: "acme"})
			if d.Remaining != tt.remaining || d.QuotaRemaining != tt.day {
				t.Errorf("%d units and %d of the day are left, want %d and %d", d.Remaining, d.QuotaRemaining, tt.remaining, tt.day)
			}
			if out := seen.only(t); out.Result != middleware.Admitted {
				t.Errorf("counted as %s, want admitted", out.Result)
			}
			if n := slots.Stats().InUse; n != 0 {
				t.Errorf("%d slots in use at the end", n)
			}
		})
	}
}
