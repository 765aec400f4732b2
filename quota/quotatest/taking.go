package quotatest

import (
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

var taking = []promise{
	{"a new tenant's bucket is full, and is refused once it is empty", func(h *harness) {
		for left := 9; left >= 0; left-- {
			h.wantTokens("after a take", h.mustTake("acme", "free", 1), float64(left))
		}
		r := h.mustRefuse("acme", "free", 1, tenant.ReasonTenant, "free")
		if r.Tier.Name != "free" || r.Tier.Burst != 10 {
			h.Errorf("tier %+v, want free with burst 10", r.Tier)
		}
	}},
	{"tenants do not share a bucket", func(h *harness) {
		h.mustTake("acme", "free", 10)
		h.mustTake("Acme", "free", 10)
		h.mustTake("acme.eu", "free", 10)
	}},
	{"what the tenant's bucket refuses is taken from no limit", func(h *harness) {
		h.count()
		h.limitCluster(100)
		h.mustTake("acme", "free", 8)
		for range 5 {
			h.mustRefuse("acme", "free", 5, tenant.ReasonTenant, "free")
		}
		h.wantTokens("after refusals", h.peek("acme", "free"), 2)
		h.wantSpent("after refusals", "acme", "free", quota.Day, 8)
		h.mustTake("acme", "free", 2)
		h.mustTake("other", "pro", 60) // 30 of the cluster's are left
		h.mustTake("third", "pro", 30)
	}},
	{"what the cluster's bucket refuses is taken from no limit", func(h *harness) {
		h.count()
		h.limitCluster(10)
		h.mustTake("other", "free", 8)
		for range 5 {
			h.mustRefuse("acme", "free", 5, tenant.ReasonGlobal, "cluster")
		}
		h.wantTokens("after refusals", h.peek("acme", "free"), 10)
		h.wantSpent("after refusals", "acme", "free", quota.Day, 0)
		h.mustTake("acme", "free", 2)
	}},
	{"what a calendar quota refuses is taken from no limit", func(h *harness) {
		h.count()
		h.limitCluster(10)
		h.mustTake("acme", "planned", 5)
		for range 5 {
			h.mustRefuse("acme", "planned", 2, tenant.ReasonWindow, "day")
		}
		h.wantTokens("after refusals", h.peek("acme", "planned"), 5)
		h.wantSpent("after refusals", "acme", "planned", quota.Day, 5)
		h.wantSpent("after refusals", "acme", "planned", quota.Month, 5)
		h.mustTake("acme", "planned", 1)
		h.mustTake("other", "free", 4)
	}},
	{"the reasons go by plan, tenant, window, cluster", func(h *harness) {
		h.count()
		h.limitCluster(10)
		h.mustTake("other", "free", 8)
		h.mustTake("acme", "planned", 2)
		h.mustRefuse("acme", "planned", 11, tenant.ReasonPlan, "planned")
		h.mustRefuse("acme", "planned", 7, tenant.ReasonPlan, "day")
		h.mustRefuse("acme", "planned", 5, tenant.ReasonWindow, "day")
		h.mustRefuse("acme", "planned", 3, tenant.ReasonGlobal, "cluster")
		h.limitCluster(0)
		h.mustTake("both", "planned", 6)
		h.mustRefuse("both", "planned", 5, tenant.ReasonTenant, "planned")
	}},
	{"a cost above the plan is refused for ever and takes nothing", func(h *harness) {
		r := h.mustRefuse("acme", "free", 11, tenant.ReasonPlan, "free")
		if r.RetryAfter != quota.Never {
			h.Errorf("RetryAfter %v, want Never", r.RetryAfter)
		}
		h.wantTokens("after it", r, 10)
		h.mustTake("acme", "free", 10)
	}},
	{"cost 0 always passes", func(h *harness) {
		h.count()
		h.limitCluster(6)
		h.mustTake("acme", "planned", 6)
		h.mustRefuse("acme", "planned", 1, tenant.ReasonWindow, "day")
		h.mustTake("acme", "planned", 0)
		h.mustTake("new", "free", 0)
	}},
	{"a peek answers as a take would, and takes nothing", func(h *harness) {
		h.count()
		h.limitCluster(10)
		for range 20 {
			r := h.do(quota.Call{Tenant: "acme", Cost: 10, Peek: true})
			if !r.Allowed || r.Charge.Units != 0 {
				h.Fatalf("peek: allowed %t, charge %d; want allowed, no charge", r.Allowed, r.Charge.Units)
			}
			h.wantTokens("peek", r, 10)
		}
		h.mustTake("acme", "free", 10)
		r := h.do(quota.Call{Tenant: "acme", Cost: 1, Peek: true})
		if r.Allowed || r.Reason != tenant.ReasonTenant {
			h.Errorf("peek at an empty bucket: allowed %t, reason %q; want refused by the tenant's", r.Allowed, r.Reason)
		}
	}},
	{"the calls of a batch are decided one after the other, each by itself", func(h *harness) {
		calls := h.batch(
			quota.Call{Tenant: "acme", Cost: 6},
			quota.Call{Tenant: "acme", Cost: 6},
			quota.Call{Tenant: "other", Cost: 6},
			quota.Call{Tenant: "acme", Cost: 4},
			quota.Call{Tenant: "acme", Cost: 1},
		)
		for i, want := range []bool{true, false, true, true, false} {
			if got := calls[i].Result.Allowed; got != want {
				h.Errorf("call %d of the batch: allowed %t, want %t", i, got, want)
			}
		}
	}},
	{"a result replaces what was in the call", func(h *harness) {
		h.mustTake("acme", "free", 10)
		calls := h.batch(quota.Call{Tenant: "acme", Cost: 1}, quota.Call{Tenant: "other", Cost: 1})
		calls[0], calls[1] = calls[1], calls[0]
		calls[0].Tenant, calls[1].Tenant = "acme", "other"
		h.batch(calls...)
		if r := calls[0].Result; r.Allowed || r.Charge.Units != 0 || r.Reason != tenant.ReasonTenant {
			h.Errorf("refused call with an old result: allowed %t, charge %d, reason %q", r.Allowed, r.Charge.Units, r.Reason)
		}
		if r := calls[1].Result; !r.Allowed || r.Reason != tenant.ReasonNone || r.Policy != "" || r.RetryAfter != 0 {
			h.Errorf("allowed call with an old result: allowed %t, reason %q, policy %q, RetryAfter %v",
				r.Allowed, r.Reason, r.Policy, r.RetryAfter)
		}
	}},
	{"an unlimited tier has no bucket, but calendar quotas and the cluster's bucket", func(h *harness) {
		h.count()
		h.limitCluster(1000)
		h.mustTake("open", "open", 900)
		h.mustRefuse("open", "open", 900, tenant.ReasonGlobal, "cluster")
		h.wantSpent("unlimited", "open", "open", quota.Day, 900)
		h.nextSecond()
		h.mustTake("ticking", "ticking", 5)
		h.mustRefuse("ticking", "ticking", 1, tenant.ReasonWindow, "second")
	}},
	{"a charge says what was taken", func(h *harness) {
		h.count()
		r := h.mustTake("acme", "free", 3)
		if c := r.Charge; c.Tenant != "acme" || c.Units != 3 || !c.Bucket || c.Cluster || c.Counted != h.rules.Counted {
			h.Errorf("charge %+v, want 3 units of acme's bucket and of the counted windows", c)
		}
		start, _ := quota.Day.Bounds(r.Spent.At)
		if got := r.Charge.Windows[quota.Day]; got != start.Unix() {
			h.Errorf("charged the day that starts at %d, want %d", got, start.Unix())
		}
		h.limitCluster(5)
		if c := h.mustTake("open", "open", 1).Charge; c.Bucket || !c.Cluster {
			h.Errorf("charge of an unlimited tier %+v, want the cluster's bucket only", c)
		}
	}},
}
