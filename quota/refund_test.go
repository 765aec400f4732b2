package quota_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestLimiter_RefundGivesBackOnce(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit(), Global: quota.Rate{PerSecond: 1e-6, Burst: 11}},
		tenant.Tier{Name: "free", Rate: 1e-6, Burst: 10, Quotas: tenant.Quotas{Day: 10}})
	f.mustTake("free", "9")
	d := f.mustTake("free", "1")
	for range 3 {
		must(t, f.Refund(t.Context(), &d))
		if now := f.peek("free", "1"); now.Remaining != 1 || now.QuotaRemaining != 1 {
			t.Errorf("Remaining %d, QuotaRemaining %d; want 1, 1", now.Remaining, now.QuotaRemaining)
		}
	}
	if other := f.takeAs(tenant.Tenant{ID: "other"}, "2"); !other.Allowed {
		t.Errorf("the cluster got nothing back: %+v", other)
	}
	if other := f.takeAs(tenant.Tenant{ID: "other"}, "1"); other.Allowed {
		t.Errorf("the cluster got more back than was taken")
	}
}

func TestLimiter_RefundBringsTheDecisionUpToDate(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Quotas: tenant.Quotas{Day: 20}})
	f.mustTake("free", "3")
	f.clock.Advance(750 * time.Millisecond) // 8.5 left
	d := f.mustTake("free", "4")
	want := d
	want.QuotaRemaining = 17
	must(t, f.RefundQuotas(t.Context(), &d))
	equal(t, "after RefundQuotas", d, want)
	want.Remaining, want.Reset = 8, 750*time.Millisecond
	must(t, f.Refund(t.Context(), &d))
	equal(t, "after Refund", d, want)
	if d.Next() != 250*time.Millisecond {
		t.Errorf("Next %v, want 250ms", d.Next())
	}
	must(t, f.RefundQuotas(t.Context(), &d))
	equal(t, "after another RefundQuotas", d, want)
	equal(t, "usage", f.used("free"), map[string]int64{"day": 3})
}

func TestLimiter_RefundQuotasLeavesTheBuckets(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: 1, Burst: 10, Quotas: tenant.Quotas{Day: 20}})
	d := f.mustTake("free", "6")
	must(t, f.RefundQuotas(t.Context(), &d))
	must(t, f.RefundQuotas(t.Context(), &d))
	if now := f.peek("free", "1"); now.Remaining != 4 || now.QuotaRemaining != 20 {
		t.Errorf("Remaining %d, QuotaRemaining %d; want 4, 20", now.Remaining, now.QuotaRemaining)
	}
}

func TestLimiter_RefundNeverFillsAboveTheBurst(t *testing.T) {
	for name, before := range map[string]func(f *fixture){
		"after Reset":    func(f *fixture) { must(t, f.Reset(t.Context(), "acme")) },
		"after a refill": func(f *fixture) { f.clock.Advance(time.Minute) },
		"after it was forgotten": func(f *fixture) {
			f.clock.Advance(time.Hour)
			f.takeAs(tenant.Tenant{ID: "other"}, "1")
		},
		"after a downgrade": func(f *fixture) { must(t, f.SetTier(t.Context(), "acme", "mini")) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
			d := f.mustTake("pro", "11")
			before(f)
			must(t, f.Refund(t.Context(), &d))
			if now := f.peek("pro", "1"); now.Remaining != now.Limit {
				t.Errorf("Remaining %d of %d, want it full", now.Remaining, now.Limit)
			}
		})
	}
}

func TestLimiter_RefundGoesToTheWindowThatWasCharged(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Hour: 10, Day: 10}})
	f.clock.Advance(59 * time.Minute)
	d := f.mustTake("free", "4")
	f.clock.Advance(time.Minute)
	f.mustTake("free", "3")
	must(t, f.Refund(t.Context(), &d))
	equal(t, "usage", f.used("free"), map[string]int64{"hour": 3, "day": 3})
}

func TestLimiter_RefundAfterAnUpgradeReturnsWhatWasTaken(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, freeAndPro()...)
	d := f.mustTake("free", "8")
	must(t, f.SetTier(t.Context(), "acme", "pro"))
	must(t, f.Refund(t.Context(), &d))
	if now := f.peek("free", "1"); now.Remaining != 10 {
		t.Errorf("Remaining %d, want the 10 there were", now.Remaining)
	}
}

func TestLimiter_NothingToRefund(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 1e-6, Burst: 10})
	f.mustTake("free", "9")
	for name, d := range map[string]quota.Decision{
		"refusal":       f.take("free", "5"),
		"peek":          f.peek("free", "1"),
		"free":          f.take("free", "0"),
		"zero Decision": {},
	} {
		want := d
		must(t, f.Refund(t.Context(), &d))
		must(t, f.RefundQuotas(t.Context(), &d))
		equal(t, name, d, want)
		if now := f.peek("free", "1"); now.Remaining != 1 {
			t.Errorf("%s: Remaining %d, want 1", name, now.Remaining)
		}
	}
}

func TestLimiter_RefusesToRefundAnothersDecision(t *testing.T) {
	f, other := newFixture(t, quota.Config{}, freeAndPro()...), newFixture(t, quota.Config{}, freeAndPro()...)
	d := f.mustTake("free", "GET /")
	if err := other.Refund(t.Context(), &d); !errors.Is(err, quota.ErrForeignDecision) {
		t.Errorf("Refund by another limiter: %v, want ErrForeignDecision", err)
	}
	must(t, f.Refund(t.Context(), &d)) // it was not emptied
	if now := f.peek("free", "GET /"); now.Remaining != 10 {
		t.Errorf("Remaining %d, want 10", now.Remaining)
	}
}
