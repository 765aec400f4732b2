package quota_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func freeAndPro() []tenant.Tier {
	return []tenant.Tier{
		{Name: "free", Rate: 10.0 / 60, Burst: 10},
		{Name: "pro", Rate: 10, Burst: 60},
		{Name: "mini", Rate: 1, Burst: 3},
		{Name: "open", Rate: tenant.Unlimited},
	}
}

func TestLimiter_DowngradeTakesTheExcess(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
	f.mustTake("free", "2")
	must(t, f.SetTier(t.Context(), "acme", "mini"))
	if d := f.peek("free", "1"); d.Tier != "mini" || d.Remaining != 3 || d.Limit != 3 {
		t.Errorf("tier %q, Remaining %d of %d; want mini, 3 of 3", d.Tier, d.Remaining, d.Limit)
	}
	f = newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
	f.mustTake("free", "8")
	must(t, f.SetTier(t.Context(), "acme", "mini"))
	if d := f.peek("free", "1"); d.Remaining != 2 {
		t.Errorf("Remaining %d, want the 2 that were left", d.Remaining)
	}
}

func TestLimiter_UpgradeHandsOutNoBurst(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
	f.mustTake("free", "9")
	must(t, f.SetTier(t.Context(), "acme", "pro"))
	if d := f.peek("free", "1"); d.Remaining != 1 || d.Limit != 60 {
		t.Errorf("Remaining %d of %d, want 1 of 60", d.Remaining, d.Limit)
	}
}

func TestLimiter_RefusedThenUpgradedThenRetriedPasses(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
	f.mustRefuse("mini", "5", tenant.ReasonPlan, "mini")
	must(t, f.SetTier(t.Context(), "acme", "pro"))
	f.mustTake("mini", "5")

	// The same where the tenant was known, and by each other way.
	for name, upgrade := range map[string]func(f *fixture) string{
		"claim":  func(*fixture) string { return "pro" },
		"Assign": func(f *fixture) string { must(t, f.tiers.Assign("acme", "pro")); return "mini" },
		"Define": func(f *fixture) string {
			must(t, f.tiers.Define(tenant.Tier{Name: "mini", Rate: 10, Burst: 60}))
			return "mini"
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
			f.mustTake("mini", "1")
			f.mustRefuse("mini", "5", tenant.ReasonPlan, "mini")
			tier := upgrade(f)
			if d := f.take(tier, "5"); d.Reason != tenant.ReasonTenant || d.RetryAfter != 300*time.Millisecond {
				t.Fatalf("reason %q, RetryAfter %v; want tenant, and 300ms for the 3 that are short", d.Reason, d.RetryAfter)
			}
			f.clock.Advance(300 * time.Millisecond)
			f.mustTake(tier, "5")
		})
	}
}

func TestLimiter_FasterTierRefillsFromTheChangeOn(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
	f.mustTake("free", "10")
	if d := f.mustRefuse("free", "1", tenant.ReasonTenant, "free"); d.RetryAfter != 6*time.Second {
		t.Fatalf("RetryAfter %v, want 6s", d.RetryAfter)
	}
	must(t, f.tiers.Assign("acme", "pro")) // 600 a minute
	if d := f.mustRefuse("free", "1", tenant.ReasonTenant, "pro"); d.RetryAfter != 100*time.Millisecond {
		t.Errorf("RetryAfter %v, want 100ms", d.RetryAfter)
	}
	f.clock.Advance(100 * time.Millisecond)
	f.mustTake("free", "1")
}

func TestLimiter_ChangeSettlesAtTheOldRateUpToThen(t *testing.T) {
	for name, change := range map[string]func(f *fixture){
		"SetTier": func(f *fixture) { must(t, f.SetTier(t.Context(), "acme", "pro")) },
		"Assign":  func(f *fixture) { must(t, f.tiers.Assign("acme", "pro")) },
		"Define":  func(f *fixture) { must(t, f.tiers.Define(tenant.Tier{Name: "mini", Rate: 10, Burst: 60})) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
			f.mustTake("mini", "3")
			f.clock.Advance(time.Second) // 1 unit at the old rate
			change(f)
			f.clock.Advance(500 * time.Millisecond) // 5 at the new one
			if d := f.peek("mini", "1"); d.Remaining != 6 {
				t.Errorf("Remaining %d, want 6", d.Remaining)
			}
			if name == "Assign" {
				f.tiers.Unassign("acme")
				if d := f.peek("mini", "1"); d.Tier != "mini" || d.Remaining != 3 {
					t.Errorf("after Unassign: tier %q, Remaining %d; want mini, 3", d.Tier, d.Remaining)
				}
			}
		})
	}
}

func TestLimiter_LaterOfSetTierAndAssignWins(t *testing.T) {
	// In virtual time, where both happen at one instant.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, quota.Config{}, freeAndPro()...)
		tier := func() string { return f.peek("free", "GET /").Tier }
		for i, step := range []struct {
			do   func() error
			want string
		}{
			{func() error { return f.tiers.Assign("acme", "pro") }, "pro"},
			{func() error { return f.SetTier(t.Context(), "acme", "mini") }, "mini"},
			{func() error { return f.tiers.Assign("acme", "open") }, "open"},
			{func() error { return f.SetTier(t.Context(), "acme", "pro") }, "pro"},
			{func() error { return f.SetTier(t.Context(), "acme", "mini") }, "mini"},
			{func() error { return f.SetTier(t.Context(), "acme", "") }, "open"},
			{func() error { f.tiers.Unassign("acme"); return nil }, "free"},
			{func() error { return f.SetTier(t.Context(), "acme", "") }, "free"},
			{func() error { return f.tiers.Assign("acme", "pro") }, "pro"},
			{func() error { return f.SetTier(t.Context(), "acme", "mini") }, "mini"},
			{func() error { f.tiers.Unassign("acme"); return nil }, "mini"},
			{func() error { return f.tiers.Assign("acme", "open") }, "open"},
			{func() error { return f.SetTier(t.Context(), "acme", "pro") }, "pro"},
		} {
			must(t, step.do())
			if got := tier(); got != step.want {
				t.Fatalf("after step %d: tier %q, want %q", i, got, step.want)
			}
		}
	})
}

func TestLimiter_UnknownTierIsAnErrorInCodeAndTheDefaultInAToken(t *testing.T) {
	f := newFixture(t, quota.Config{}, freeAndPro()...)
	if err := f.SetTier(t.Context(), "acme", "platinum"); err == nil || !strings.Contains(err.Error(), `no tier "platinum"`) {
		t.Errorf("SetTier: %v, want no tier", err)
	}
	if d := f.mustTake("platinum", "GET /"); d.Tier != "free" {
		t.Errorf("tier %q, want free", d.Tier)
	}
}

func TestLimiter_OlderTokenNeverChangesTheTierBack(t *testing.T) {
	f := newFixture(t, quota.Config{}, freeAndPro()...)
	issued := f.clock.Now()
	before := tenant.Tenant{ID: "acme", Tier: "free", TierAsOf: issued}
	after := tenant.Tenant{ID: "acme", Tier: "pro", TierAsOf: issued.Add(time.Minute)}
	for i, step := range []struct {
		who  tenant.Tenant
		want string
	}{{before, "free"}, {after, "pro"}, {before, "pro"}, {tenant.Tenant{ID: "acme"}, "pro"}, {before, "pro"}} {
		if d := f.takeAs(step.who, "GET /"); d.Tier != step.want {
			t.Errorf("step %d: tier %q, want %q", i, d.Tier, step.want)
		}
	}
}

func TestLimiter_NoTokensFromPassingThroughUnlimited(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
	f.mustTake("mini", "3")
	must(t, f.tiers.Assign("acme", "open"))
	for range 100 {
		f.mustTake("mini", "11")
	}
	f.clock.Advance(time.Second)
	must(t, f.tiers.Assign("acme", "pro"))
	if d := f.peek("mini", "1"); d.Remaining != 1 {
		t.Errorf("Remaining %d, want the 1 that the bucket regained at its old rate", d.Remaining)
	}
}

// Two replicas with different tables during a deployment, sharing a store: a tenant that meets both in turn gets no
// more than the better of the two allows.
func TestLimiter_DifferentTablesOverOneStoreHandOutNothing(t *testing.T) {
	clock := &clock{now: noon}
	store := quota.NewMemory(clock.Now)
	var replicas []*quota.Limiter
	for _, tier := range []tenant.Tier{{Name: "free", Rate: 1, Burst: 10}, {Name: "free", Rate: 2, Burst: 20}} {
		tiers, err := tenant.NewTiers("free", tier)
		must(t, err)
		l, err := quota.New(quota.Config{Tiers: tiers, Store: store})
		must(t, err)
		defer l.Close()
		replicas = append(replicas, l)
	}
	admitted, start := 0, clock.Now()
	for i := range 10_000 {
		d, err := replicas[i%2].Take(t.Context(), tenant.Tenant{ID: "acme"}, "GET /")
		must(t, err)
		if d.Allowed {
			admitted++
		}
		clock.Advance(10 * time.Millisecond)
	}
	if most := 20 + 2*clock.Now().Sub(start).Seconds(); float64(admitted) > most {
		t.Errorf("admitted %d, want at most %v", admitted, most)
	}
}

func TestLimiter_DefineAsksTheLimiterFirst(t *testing.T) {
	f := newFixture(t, quota.Config{}, freeAndPro()...)
	err := f.tiers.Define(tenant.Tier{Name: "mini", Rate: 1})
	if err == nil || !strings.Contains(err.Error(), "quota: tier mini: Burst is 0") {
		t.Errorf("Define without burst: %v, want an error that names tier and field", err)
	}
	if d := f.peek("mini", "GET /"); d.Limit != 3 {
		t.Errorf("Limit %d, want the old 3", d.Limit)
	}
	must(t, f.tiers.Define(tenant.Tier{Name: "mini", Rate: tenant.Unlimited}))
}

// A quota that a tier gets in the middle of a window counts what is admitted from its definition on.
func TestLimiter_DefinedQuotaCountsFromThereOn(t *testing.T) {
	f := newFixture(t, quota.Config{}, freeAndPro()...)
	f.mustTake("pro", "GET /")
	must(t, f.tiers.Define(tenant.Tier{Name: "pro", Rate: 10, Burst: 60, Quotas: tenant.Quotas{Day: 3}}))
	for range 3 {
		f.mustTake("pro", "GET /")
	}
	f.mustRefuse("pro", "GET /", tenant.ReasonWindow, "day")
	equal(t, "usage", f.used("pro"), map[string]int64{"day": 3})
}

func TestLimiter_ResetFillsTheBucketAndLeavesTheRest(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: 1, Burst: 10, Quotas: tenant.Quotas{Day: 12}},
		tenant.Tier{Name: "pro", Rate: 1, Burst: 10, Quotas: tenant.Quotas{Day: 15}})
	must(t, f.SetTier(t.Context(), "acme", "pro"))
	f.mustTake("free", "10")
	must(t, f.Reset(t.Context(), "acme"))
	must(t, f.Reset(t.Context(), "nobody"))
	d := f.peek("free", "6")
	if d.Tier != "pro" || d.Remaining != 10 || d.QuotaRemaining != 5 || d.Reason != tenant.ReasonWindow {
		t.Errorf("after Reset: %+v; want pro, 10 left of the bucket, 5 of the day", d)
	}
}
