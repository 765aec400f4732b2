package quotatest

import (
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

var refunding = []promise{
	{"a refund gives back what was taken, to every limit, once", func(h *harness) {
		h.count()
		h.limitCluster(10)
		h.mustTake("acme", "planned", 2)
		charge := h.mustTake("acme", "planned", 3).Charge
		h.refund(charge)
		h.wantTokens("after the refund", h.peek("acme", "planned"), 8)
		h.wantSpent("after the refund", "acme", "planned", quota.Day, 2)
		h.wantSpent("after the refund", "acme", "planned", quota.Month, 2)
		h.mustTake("other", "free", 8)
		h.mustRefuse("third", "free", 1, tenant.ReasonGlobal, "cluster")
	}},
	{"a refund gives back only to the limits that the charge names", func(h *harness) {
		h.count()
		h.limitCluster(10)
		charge := h.mustTake("acme", "planned", 4).Charge
		quotas := charge
		quotas.Bucket, quotas.Cluster = false, false
		h.refund(quotas)
		h.wantSpent("after a refund of the quotas", "acme", "planned", quota.Day, 0)
		h.wantTokens("after a refund of the quotas", h.peek("acme", "planned"), 6)
		h.mustRefuse("other", "free", 7, tenant.ReasonGlobal, "cluster")
		charge.Counted = 0
		h.refund(charge)
		h.wantTokens("after a refund of the buckets", h.peek("acme", "planned"), 10)
		h.mustTake("other", "free", 10)
	}},
	{"a refund never fills a bucket above its burst", func(h *harness) {
		h.limitCluster(20)
		charge := h.mustTake("acme", "free", 5).Charge
		if err := h.store.Reset(h.Context(), h.rules, "acme"); err != nil {
			h.Fatalf("Reset: %v", err)
		}
		h.refund(charge)
		h.wantTokens("after Reset and a refund", h.peek("acme", "free"), 10)
		h.mustTake("acme", "free", 10)
		h.mustRefuse("acme", "free", 1, tenant.ReasonTenant, "free")
		h.mustTake("other", "free", 10)
		h.mustRefuse("third", "free", 1, tenant.ReasonGlobal, "cluster")
	}},
	{"a refund to a tenant that the store does not know does nothing", func(h *harness) {
		h.count()
		h.refund(quota.Charge{Tenant: "acme", Units: 5, Bucket: true, Counted: h.rules.Counted})
		h.wantSpent("after it", "acme", "planned", quota.Day, 0)
		h.mustTake("acme", "free", 10)
		h.mustRefuse("acme", "free", 1, tenant.ReasonTenant, "free")
	}},
	{"a refund after a downgrade is capped at the new burst", func(h *harness) {
		charge := h.mustTake("acme", "pro", 30).Charge
		h.take("acme", "free", 0)
		h.refund(charge)
		h.wantTokens("after it", h.peek("acme", "free"), 10)
		h.mustTake("acme", "free", 10)
		h.mustRefuse("acme", "free", 1, tenant.ReasonTenant, "free")
	}},
	{"a window that has ended gets nothing back", func(h *harness) {
		h.count()
		h.nextSecond()
		charge := h.mustTake("acme", "ticking", 5).Charge
		h.cfg.Advance(h.left(quota.Second))
		h.mustTake("acme", "ticking", 5)
		h.refund(charge)
		h.wantSpent("after it", "acme", "ticking", quota.Second, 5)
		h.mustRefuse("acme", "ticking", 1, tenant.ReasonWindow, "second")
	}},
	{"several charges are refunded each by itself", func(h *harness) {
		first := h.mustTake("acme", "free", 3).Charge
		second := h.mustTake("acme", "free", 4).Charge
		third := h.mustTake("other", "free", 5).Charge
		h.refund(first, third, second)
		h.wantTokens("acme", h.peek("acme", "free"), 10)
		h.wantTokens("other", h.peek("other", "free"), 10)
	}},
}
