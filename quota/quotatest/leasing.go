package quotatest

import (
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// A store need not grant leases. What it does grant is held to this.
var leasing = []promise{
	{"a lease is at most what was asked, and is debited from every limit at once", func(h *harness) {
		h.count()
		h.limitCluster(60)
		r := h.lease("acme", "planned-pro", 2, 20)
		held := 2 + r.Leased
		h.wantTokens("after the lease", r, float64(60-held))
		h.wantSpent("after the lease", "acme", "planned-pro", quota.Day, int64(held))
		h.mustRefuse("acme", "planned-pro", 30-held+1, tenant.ReasonWindow, "day")
		h.mustRefuse("other", "pro", 60-held+1, tenant.ReasonGlobal, "cluster")
		h.mustTake("other", "pro", 60-held)
	}},
	{"a lease is no more than each limit holds beside the cost", func(h *harness) {
		h.count()
		for _, limit := range []struct {
			name, tier    string
			cluster, room int
		}{
			{"bucket", "free", 0, 10},
			{"quota", "planned", 0, 6},
			{"cluster", "pro", 5, 5},
		} {
			h.limitCluster(limit.cluster) // 0: none
			if r := h.lease(limit.name, limit.tier, 2, 1_000_000); r.Leased > limit.room-2 {
				h.Errorf("%s: leased %d beside a cost of 2, want at most %d", limit.name, r.Leased, limit.room-2)
			}
		}
	}},
	{"a refusal and a peek lease nothing", func(h *harness) {
		h.mustTake("acme", "free", 9)
		for _, call := range []quota.Call{
			{Tenant: "acme", Cost: 2, Ahead: 5},
			{Tenant: "acme", Cost: 1, Ahead: 5, Peek: true},
		} {
			if r := h.do(call); r.Leased != 0 {
				h.Errorf("%+v leased %d, want 0", call, r.Leased)
			}
		}
		h.wantTokens("after them", h.peek("acme", "free"), 1)
	}},
	{"what is unspent of a lease can be given back", func(h *harness) {
		h.count()
		h.limitCluster(20)
		r := h.lease("acme", "planned", 1, 3)
		unspent := r.Charge
		unspent.Units = r.Leased
		h.refund(unspent)
		h.wantTokens("after the refund", h.peek("acme", "planned"), 9)
		h.wantSpent("after the refund", "acme", "planned", quota.Month, 1)
		h.mustTake("other", "pro", 19)
	}},
	{"a lease ends before any window does that was charged", func(h *harness) {
		h.count()
		h.nextSecond()
		for range 3 {
			r := h.lease("acme", "ticking", 1, 1)
			if left := h.left(quota.Second) + h.cfg.Drift; r.LeaseFor > left {
				h.Errorf("lease for %v, %v before a window ends", r.LeaseFor, left)
			}
			h.cfg.Advance(100 * time.Millisecond)
		}
	}},
}

// lease takes cost and asks for so many units ahead.
func (h *harness) lease(id, tier string, cost, ahead int) quota.Result {
	h.Helper()
	r := h.do(quota.Call{Tenant: id, Asserted: tenant.Assertion{Tier: tier}, Cost: cost, Ahead: ahead})
	if !r.Allowed {
		h.Fatalf("taking %d as %s (%s) and %d ahead: refused by %s %q", cost, id, tier, ahead, r.Reason, r.Policy)
	}
	if r.Leased < 0 || r.Leased > ahead {
		h.Fatalf("leased %d, want 0 to %d", r.Leased, ahead)
	}
	if r.Leased > 0 && r.LeaseFor <= 0 {
		h.Errorf("leased %d for %v", r.Leased, r.LeaseFor)
	}
	if r.Charge.Units != cost {
		h.Errorf("charge of %d, want the cost of %d without the lease", r.Charge.Units, cost)
	}
	return r
}
