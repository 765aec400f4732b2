package quotatest

import (
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

var tiers = []promise{
	{"a tenant that asserts nothing, or an unknown tier, is on the default", func(h *harness) {
		for _, tier := range []string{"", "platinum"} {
			if r := h.mustTake("acme", tier, 1); r.Tier.Name != "free" {
				h.Errorf("asserting %q: tier %q, want free", tier, r.Tier.Name)
			}
		}
	}},
	{"a tier asserted later wins, and an earlier one never changes it back", func(h *harness) {
		for _, step := range []struct {
			tier string
			asOf int64
			want string
		}{
			{"pro", 100, "pro"},
			{"free", 50, "pro"},
			{"", 200, "pro"},
			{"free", 0, "pro"},
			{"crowd", 100, "crowd"}, // as old as the other: the one seen last
			{"free", 101, "free"},
			{"pro", 100, "free"},
		} {
			asserted := tenant.Assertion{Tier: step.tier}
			if step.asOf != 0 {
				asserted.AsOf = time.Unix(1_700_000_000+step.asOf, 0)
			}
			r := h.do(quota.Call{Tenant: "acme", Asserted: asserted, Cost: 1})
			if r.Tier.Name != step.want {
				h.Errorf("after %q as of %d: tier %q, want %q", step.tier, step.asOf, r.Tier.Name, step.want)
			}
		}
	}},
	{"a peek does not make an assertion known", func(h *harness) {
		h.mustTake("acme", "free", 1)
		h.do(quota.Call{Tenant: "acme", Asserted: tenant.Assertion{Tier: "pro", AsOf: time.Unix(1_700_000_000, 0)}, Peek: true})
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "free" {
			h.Errorf("tier %q, want free", r.Tier.Name)
		}
	}},
	{"an assignment wins over what is asserted, until it is taken back", func(h *harness) {
		h.assign("acme", "pro", 1)
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "pro" {
			h.Errorf("assigned pro: tier %q", r.Tier.Name)
		}
		h.assign("acme", "", 2)
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "free" {
			h.Errorf("taken back: tier %q, want free", r.Tier.Name)
		}
	}},
	{"of two assignments the later stays", func(h *harness) {
		h.assign("acme", "pro", 2)
		h.assign("acme", "crowd", 1)
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "pro" {
			h.Errorf("tier %q, want pro", r.Tier.Name)
		}
		h.assign("acme", "", 1)
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "pro" {
			h.Errorf("taken back as of an earlier moment: tier %q, want pro", r.Tier.Name)
		}
		h.assign("acme", "crowd", 2) // as old as the other: the one seen last
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "crowd" {
			h.Errorf("tier %q, want crowd", r.Tier.Name)
		}
	}},
	{"of an assignment in the store and one in the process the later holds", func(h *harness) {
		h.assign("acme", "crowd", 1) // long ago
		if err := h.rules.Tiers.Assign("acme", "pro"); err != nil {
			h.Fatal(err)
		}
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "pro" {
			h.Errorf("assigned in the process last: tier %q, want pro", r.Tier.Name)
		}
		local, _ := h.rules.Tiers.Assigned("acme")
		later := tenant.Assertion{Tier: "crowd", AsOf: local.AsOf.Add(time.Millisecond)}
		if err := h.store.SetTier(h.Context(), h.rules, "acme", later); err != nil {
			h.Fatal(err)
		}
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "crowd" {
			h.Errorf("assigned in the store last: tier %q, want crowd", r.Tier.Name)
		}
		h.rules.Tiers.Unassign("acme")
		if r := h.mustTake("acme", "free", 1); r.Tier.Name != "crowd" {
			h.Errorf("assigned in the store only: tier %q, want crowd", r.Tier.Name)
		}
	}},
	{"an assignment outlives the bucket", func(h *harness) {
		h.assign("acme", "pro", 1)
		h.mustTake("acme", "free", 1)
		if err := h.store.Reset(h.Context(), h.rules, "acme"); err != nil {
			h.Fatalf("Reset: %v", err)
		}
		if h.cfg.Drift == 0 {
			h.cfg.Advance(90 * 24 * time.Hour)
		}
		h.mustTake("other", "free", 1)
		h.wantTokens("after Reset", h.mustTake("acme", "free", 1), 59)
	}},
	{"an upgrade hands out no burst, by whatever way it comes", func(h *harness) {
		for name, upgrade := range changes {
			h.mustTake(name, "free", 9)
			upgrade(h, name, "pro")
			h.wantTokens("after an upgrade by "+name, h.peek(name, "pro"), 1)
			h.mustRefuse(name, "pro", 2, tenant.ReasonTenant, "pro")
		}
	}},
	{"a downgrade takes the excess, by whatever way it comes", func(h *harness) {
		for name, downgrade := range changes {
			h.mustTake(name, "pro", 20)
			downgrade(h, name, "free")
			h.wantTokens("after a downgrade by "+name, h.peek(name, "free"), 10)
			downgrade(h, name, "pro")
			h.wantTokens("and back by "+name, h.peek(name, "pro"), 10)
		}
	}},
	{"a change of tier settles: the old rate until then, the new one from then on", func(h *harness) {
		h.mustTake("acme", "free", 10)
		r := h.mustRefuse("acme", "free", 1, tenant.ReasonTenant, "free")
		if r.RetryAfter < 30*time.Minute {
			h.Fatalf("RetryAfter %v, want about an hour", r.RetryAfter)
		}
		h.cfg.Advance(200 * time.Millisecond)
		h.assign("acme", "quick", 1)
		r = h.mustRefuse("acme", "free", 1, tenant.ReasonTenant, "quick")
		h.wantWait(r, 100*time.Millisecond)
		h.cfg.Advance(100 * time.Millisecond)
		h.mustTake("acme", "free", 1)
	}},
	{"a tier that is defined anew settles every bucket on it", func(h *harness) {
		h.mustTake("acme", "free", 10)
		h.mustTake("other", "free", 5)
		h.cfg.Advance(200 * time.Millisecond)
		if err := h.rules.Tiers.Define(tenant.Tier{Name: "free", Rate: 10, Burst: 20}); err != nil {
			h.Fatal(err)
		}
		h.settle("")
		h.cfg.Advance(100 * time.Millisecond)
		h.wantTokens("100 ms after it", h.mustTake("acme", "free", 1), 0)
		h.wantTokens("100 ms after it", h.peek("other", "free"), 6)
	}},
	{"passing through an unlimited tier mints nothing", func(h *harness) {
		h.mustTake("acme", "free", 9)
		h.mustTake("acme", "open", 1000)
		h.wantTokens("back from unlimited", h.peek("acme", "free"), 1)
		h.mustRefuse("acme", "free", 2, tenant.ReasonTenant, "free")
	}},
	{"Reset fills the bucket, and leaves calendar usage", func(h *harness) {
		h.count()
		h.mustTake("acme", "planned", 6)
		if err := h.store.Reset(h.Context(), h.rules, "acme"); err != nil {
			h.Fatalf("Reset: %v", err)
		}
		h.wantTokens("after Reset", h.peek("acme", "planned"), 10)
		h.wantSpent("after Reset", "acme", "planned", quota.Day, 6)
		h.mustRefuse("acme", "planned", 1, tenant.ReasonWindow, "day")
	}},
}

// changes are the ways in which a tenant's tier changes. Each is the name of the tenant that it is tried on.
var changes = map[string]func(h *harness, id, tier string){
	"assertion": func(h *harness, id, tier string) { h.mustTake(id, tier, 0) },
	"SetTier": func(h *harness, id, tier string) {
		asOf := 1
		if tier == "pro" {
			asOf = 2
		}
		h.assign(id, tier, asOf)
	},
	"Assign": func(h *harness, id, tier string) {
		if err := h.rules.Tiers.Assign(id, tier); err != nil {
			h.Fatal(err)
		}
		h.settle(id)
	},
}
