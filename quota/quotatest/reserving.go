package quotatest

import (
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

var reserving = []promise{
	{"the reserve serves only tenants whose bucket is at least half full", func(h *harness) {
		h.limitCluster(40)
		h.reserve(0.25)
		h.mustTake("busy", "pro", 31) // 29 of 60 are left to it, and 9 in the cluster
		h.mustRefuse("busy", "pro", 1, tenant.ReasonGlobal, "cluster")
		h.mustTake("busy", "pro", 0)
		h.mustTake("quiet", "free", 5)
		h.mustTake("quiet", "free", 1) // from exactly the half
		h.mustRefuse("quiet", "free", 1, tenant.ReasonGlobal, "cluster")
		h.mustRefuse("other", "free", 4, tenant.ReasonGlobal, "cluster")
		h.mustTake("other", "free", 3)
	}},
	{"above the reserve anybody is served, down to the last unit", func(h *harness) {
		h.limitCluster(40)
		h.reserve(0.125)
		h.mustTake("busy", "pro", 31) // 29 of 60 are left to it, and 9 in the cluster
		h.mustRefuse("busy", "pro", 5, tenant.ReasonGlobal, "cluster")
		h.mustTake("busy", "pro", 4)
		h.mustRefuse("busy", "pro", 1, tenant.ReasonGlobal, "cluster")
		h.mustTake("quiet", "free", 5)
		h.mustRefuse("other", "free", 1, tenant.ReasonGlobal, "cluster")
	}},
	{"an unlimited tier is never served by the reserve", func(h *harness) {
		h.limitCluster(40)
		h.reserve(0.25)
		h.mustRefuse("open", "open", 31, tenant.ReasonGlobal, "cluster")
		h.mustTake("open", "open", 30)
		h.mustRefuse("open", "open", 1, tenant.ReasonGlobal, "cluster")
		h.mustTake("open", "open", 0)
		h.mustTake("acme", "free", 10)
	}},
	{"a cost that does not fit above the reserve is served to half full tenants only", func(h *harness) {
		h.limitCluster(10)
		h.reserve(0.5)
		if r := h.mustRefuse("open", "open", 6, tenant.ReasonGlobal, "cluster"); r.RetryAfter != quota.Never {
			h.Errorf("RetryAfter %v, want Never", r.RetryAfter)
		}
		h.mustTake("acme", "free", 6)
	}},
	{"a peek at the reserve answers as a take would", func(h *harness) {
		h.limitCluster(40)
		h.reserve(0.25)
		h.mustTake("busy", "pro", 31)
		for id, want := range map[string]bool{"busy": false, "quiet": true} {
			r := h.do(quota.Call{Tenant: id, Asserted: tenant.Assertion{Tier: "pro"}, Cost: 9, Peek: true})
			if r.Allowed != want {
				h.Errorf("%s: allowed %t, want %t", id, r.Allowed, want)
			}
		}
	}},
	{"a wait at the reserve is honoured, whichever comes first", func(h *harness) {
		h.rules.Cluster = quota.Rate{PerSecond: 20, Burst: 20}
		h.reserve(0.75)
		h.mustTake("half", "steady", 6) // half full in 100 ms
		h.mustTake("line", "free", 6)   // in an hour and more; the cluster has 8, and 16 in 400 ms
		r := h.mustRefuse("line", "free", 1, tenant.ReasonGlobal, "cluster")
		h.wantWait(r, 400*time.Millisecond)
		r = h.mustRefuse("half", "steady", 1, tenant.ReasonGlobal, "cluster")
		h.wantWait(r, 100*time.Millisecond)
		h.cfg.Advance(r.RetryAfter)
		h.mustTake("half", "steady", 1)
		r = h.mustRefuse("line", "free", 1, tenant.ReasonGlobal, "cluster")
		h.wantWait(r, 350*time.Millisecond)
		h.cfg.Advance(r.RetryAfter)
		h.mustTake("line", "free", 1)
	}},
	{"a wait at the reserve is not over early", func(h *harness) {
		if h.cfg.Drift > 0 {
			return // the clock may pass that moment by itself
		}
		h.rules.Cluster = quota.Rate{PerSecond: 20, Burst: 20}
		h.reserve(0.75)
		h.mustTake("half", "steady", 6)
		h.mustTake("line", "free", 6)
		h.cfg.Advance(99 * time.Millisecond)
		h.mustRefuse("half", "steady", 1, tenant.ReasonGlobal, "cluster")
		h.cfg.Advance(300 * time.Millisecond)
		h.mustRefuse("line", "free", 1, tenant.ReasonGlobal, "cluster")
		h.cfg.Advance(time.Millisecond)
		h.mustTake("line", "free", 1)
	}},
	{"a lease takes nothing from the reserve", func(h *harness) {
		h.limitCluster(40)
		h.reserve(0.25)
		if r := h.lease("acme", "pro", 2, 1_000_000); r.Leased > 28 {
			h.Errorf("leased %d beside a cost of 2, want at most 28", r.Leased)
		}
		h.limitCluster(10)
		h.reserve(0.5)
		if r := h.lease("other", "pro", 6, 4); r.Leased != 0 {
			h.Errorf("leased %d where the cost is served by the reserve, want 0", r.Leased)
		}
	}},
	{"a refund puts units back above the reserve", func(h *harness) {
		h.limitCluster(40)
		h.reserve(0.25)
		h.mustTake("busy", "free", 6)
		r := h.mustTake("quiet", "pro", 25) // 9 left
		h.mustRefuse("busy", "free", 1, tenant.ReasonGlobal, "cluster")
		h.refund(r.Charge)
		h.mustTake("busy", "free", 1)
		h.mustRefuse("open", "open", 24, tenant.ReasonGlobal, "cluster")
		h.mustTake("open", "open", 23)
		h.mustRefuse("busy", "free", 1, tenant.ReasonGlobal, "cluster")
		h.mustTake("quiet", "pro", 10)
	}},
}
