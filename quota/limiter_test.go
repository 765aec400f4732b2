package quota_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

var ignoreUnexported = cmpopts.IgnoreUnexported(quota.Decision{})

func TestLimiter_DecisionSaysWhatWasDecided(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: quota.Costs{"GET /search": 5}},
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Quotas: tenant.Quotas{Hour: 100, Day: 12}})
	equal(t, "allowed", f.take("free", "GET /search"), quota.Decision{
		Allowed: true, Tenant: "acme", Tier: "free", Operation: "GET /search", Cost: 5,
		Limit: 10, Remaining: 5, Reset: 2500 * time.Millisecond, Rate: 2,
		QuotaPolicy: "day", QuotaLimit: 12, QuotaRemaining: 7, QuotaReset: 12 * time.Hour,
	})
	f.mustTake("free", "GET /search")
	equal(t, "refused", f.take("free", "GET /search"), quota.Decision{
		Reason: tenant.ReasonTenant, Policy: "free",
		Tenant: "acme", Tier: "free", Operation: "GET /search", Cost: 5,
		Limit: 10, Remaining: 0, Reset: 5 * time.Second, RetryAfter: 12 * time.Hour, Rate: 2,
		QuotaPolicy: "day", QuotaLimit: 12, QuotaRemaining: 2, QuotaReset: 12 * time.Hour,
	})
}

// 106 ms rounded down to 0 elsewhere.
func TestLimiter_TenASecondWithBurstOneWaits100Milliseconds(t *testing.T) {
	f := newFixture(t, quota.Config{}, tenant.Tier{Name: "free", Rate: 10, Burst: 1})
	f.mustTake("free", "GET /")
	d := f.mustRefuse("free", "GET /", tenant.ReasonTenant, "free")
	if d.RetryAfter != 100*time.Millisecond {
		t.Errorf("RetryAfter %v, want 100ms", d.RetryAfter)
	}
	f.clock.Advance(d.RetryAfter - 1)
	f.mustRefuse("free", "GET /", tenant.ReasonTenant, "free")
	f.clock.Advance(1)
	f.mustTake("free", "GET /")
}

func TestLimiter_RetryAfterIsTheTimeUntilThisCostFitsAndNotTheWindow(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 10.0 / 60, Burst: 10})
	f.mustTake("free", "4")
	for range 6 {
		f.clock.Advance(20 * time.Second / 6)
		f.mustTake("free", "1")
	}
	// 3.33 came back in those 20 seconds.
	f.mustTake("free", "3")
	if d := f.mustRefuse("free", "1", tenant.ReasonTenant, "free"); d.RetryAfter.Round(time.Millisecond) != 4*time.Second {
		t.Errorf("RetryAfter %v, want 4s: two thirds of a unit at 10 a minute", d.RetryAfter)
	}
	if d := f.mustRefuse("free", "2", tenant.ReasonTenant, "free"); d.RetryAfter.Round(time.Millisecond) != 10*time.Second {
		t.Errorf("RetryAfter %v for 2, want 10s", d.RetryAfter)
	}
}

func TestLimiter_PassesAtThePromisedInstantAndNotBefore(t *testing.T) {
	for _, rate := range []float64{10, 3, 7.0 / 60, 1e-3, 123456.789, 0.3333333333333333} {
		f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: rate, Burst: 10})
		f.mustTake("free", "10")
		for i := range 20 {
			operation := []string{"1", "7", "3"}[i%3]
			d := f.mustRefuse("free", operation, tenant.ReasonTenant, "free")
			f.clock.Advance(d.RetryAfter - 1)
			f.mustRefuse("free", operation, tenant.ReasonTenant, "free")
			f.clock.Advance(1)
			f.mustTake("free", operation)
		}
	}
}

func TestLimiter_RateZeroPassesItsBurstAndThenNothing(t *testing.T) {
	f := newFixture(t, quota.Config{}, tenant.Tier{Name: "trial", Rate: 0, Burst: 2})
	f.mustTake("trial", "GET /")
	if d := f.mustTake("trial", "GET /"); d.Reset != quota.Never || d.Next() != quota.Never {
		t.Errorf("Reset %v, Next %v, want Never", d.Reset, d.Next())
	}
	f.clock.Advance(10_000 * time.Hour)
	if d := f.mustRefuse("trial", "GET /", tenant.ReasonTenant, "trial"); d.RetryAfter != quota.Never {
		t.Errorf("RetryAfter %v, want Never", d.RetryAfter)
	}
}

func TestLimiter_CostAboveTheBurstIsAgainstThePlanAndSpendsNothing(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
	d := f.mustRefuse("free", "11", tenant.ReasonPlan, "free")
	if d.RetryAfter != quota.Never || d.Remaining != 10 || d.Reset != 0 {
		t.Errorf("RetryAfter %v, Remaining %d, Reset %v; want Never, 10, 0s", d.RetryAfter, d.Remaining, d.Reset)
	}
	f.mustTake("free", "10")
}

func TestLimiter_RefusalLeavesWhatIsLeft(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
	f.mustTake("free", "8")
	for range 3 {
		if d := f.mustRefuse("free", "5", tenant.ReasonTenant, "free"); d.Remaining != 2 { // -3 elsewhere
			t.Errorf("Remaining %d, want 2", d.Remaining)
		}
	}
	f.mustTake("free", "2")
}

func TestLimiter_TenantAndClusterAreNotChargedForEachOther(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit(), Global: quota.Rate{PerSecond: 1e-6, Burst: 11}},
		tenant.Tier{Name: "free", Rate: 1e-6, Burst: 10})
	f.mustTake("free", "10")
	for range 5 {
		f.mustRefuse("free", "1", tenant.ReasonTenant, "free")
	}
	other := tenant.Tenant{ID: "other"}
	if d := f.takeAs(other, "1"); !d.Allowed {
		t.Fatalf("the cluster's last unit was charged for a refusal of the tenant's: %+v", d)
	}
	for range 5 {
		if d := f.takeAs(other, "1"); d.Reason != tenant.ReasonGlobal || d.Policy != "cluster" || d.Remaining != 9 {
			t.Fatalf("reason %q, policy %q, Remaining %d; want global, cluster, 9", d.Reason, d.Policy, d.Remaining)
		}
	}
}

func TestLimiter_UnknownOperationCostsTheDefault(t *testing.T) {
	tier := tenant.Tier{Name: "free", Rate: 1, Burst: 10}
	f := newFixture(t, quota.Config{Costs: quota.Costs{"GET /": 2}}, tier)
	if d := f.take("free", "PUT /"); d.Cost != 1 {
		t.Errorf("cost %d, want 1 where no default is set", d.Cost)
	}
	f = newFixture(t, quota.Config{Costs: quota.Costs{quota.DefaultOperation: 3}}, tier)
	if d := f.take("free", "PUT /"); d.Cost != 3 || d.Remaining != 7 {
		t.Errorf("cost %d, Remaining %d; want 3, 7", d.Cost, d.Remaining)
	}
	f = newFixture(t, quota.Config{Costs: quota.Costs{quota.DefaultOperation: 0}}, tier)
	for range 20 {
		f.mustTake("free", "PUT /")
	}
}

func TestLimiter_UnlimitedTierHasNoBucketButTheRest(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit(), Global: quota.Rate{PerSecond: 1, Burst: 25}},
		tenant.Tier{Name: "open", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Hour: 20}})
	d := f.mustTake("open", "10")
	if d.Limit != 0 || d.Remaining != 0 || d.Reset != 0 || d.Next() != 0 || d.QuotaRemaining != 10 {
		t.Errorf("%+v: want no Limit, and 10 left of the hour", d)
	}
	f.mustTake("open", "8")
	f.mustRefuse("open", "3", tenant.ReasonWindow, "hour")
	f.clock.Advance(time.Second)
	if d := f.takeAs(tenant.Tenant{ID: "other"}, "9"); d.Reason != tenant.ReasonGlobal || d.RetryAfter != time.Second {
		t.Errorf("reason %q, RetryAfter %v; want global, 1s", d.Reason, d.RetryAfter)
	}
}

func TestLimiter_NextIsTheTimeUntilOneMoreUnit(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 2, Burst: 10})
	if d := f.peek("free", "1"); d.Next() != 0 {
		t.Errorf("full: Next %v, want 0", d.Next())
	}
	f.mustTake("free", "4")
	f.clock.Advance(200 * time.Millisecond)
	if d := f.peek("free", "1"); d.Remaining != 6 || d.Next() != 300*time.Millisecond {
		t.Errorf("Remaining %d, Next %v; want 6, 300ms", d.Remaining, d.Next())
	}
}

func TestLimiter_PeekChangesNothing(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: 1, Burst: 10, Quotas: tenant.Quotas{Day: 10}},
		tenant.Tier{Name: "pro", Rate: 100, Burst: 20})
	f.mustTake("free", "6")
	want := f.peek("free", "5")
	if want.Allowed || want.Reason != tenant.ReasonTenant || want.Remaining != 4 {
		t.Fatalf("Peek: %+v, want refused, 4 left", want)
	}
	f.peek("pro", "5") // would be an upgrade
	f.peek("free", "4")
	equal(t, "second Peek", f.peek("free", "5"), want)
	if d := f.mustTake("free", "4"); d.Remaining != 0 {
		t.Errorf("Remaining %d, want 0", d.Remaining)
	}
}

func TestLimiter_InvalidIDsAndEndedContextsAreErrors(t *testing.T) {
	f := newFixture(t, quota.Config{}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		id   string
		want error
	}{
		{"empty ID", t.Context(), "", tenant.ErrInvalidID},
		{"separator in the ID", t.Context(), "a:b", tenant.ErrInvalidID},
		{"braces in the ID", t.Context(), "{a}", tenant.ErrInvalidID},
		{"underscore first", t.Context(), "__other__", tenant.ErrInvalidID},
		{"cancelled", ended, "acme", context.Canceled},
		{"late", late, "acme", context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			who := tenant.Tenant{ID: tt.id}
			_, take := f.Take(tt.ctx, who, "GET /")
			_, peek := f.Peek(tt.ctx, who, "GET /")
			_, usage := f.Usage(tt.ctx, who)
			for method, err := range map[string]error{
				"Take": take, "Peek": peek, "Usage": usage,
				"SetTier": f.SetTier(tt.ctx, tt.id, "free"),
				"Reset":   f.Reset(tt.ctx, tt.id),
			} {
				if !errors.Is(err, tt.want) {
					t.Errorf("%s: error %v, want %v", method, err, tt.want)
				}
			}
		})
	}
	if d := f.takeAs(tenant.Tenant{ID: tenant.AnonymousID}, "GET /"); !d.Allowed || d.Remaining != 9 {
		t.Errorf("anonymous: allowed %t, Remaining %d; want allowed, 9", d.Allowed, d.Remaining)
	}
}

func TestLimiter_TakesNothingOnAnEndedContext(t *testing.T) {
	f := newFixture(t, quota.Config{}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = f.Take(ended, tenant.Tenant{ID: "acme"}, "GET /")
	if d := f.peek("free", "GET /"); d.Remaining != 10 {
		t.Errorf("Remaining %d, want 10", d.Remaining)
	}
}

// The limiter's own clock, in virtual time.
func TestLimiter_RunsOnTheWallClockByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 10, Burst: 1, Quotas: tenant.Quotas{Minute: 3}})
		must(t, err)
		l, err := quota.New(quota.Config{Tiers: tiers})
		must(t, err)
		defer l.Close()
		for i := range 3 {
			d, err := l.Take(t.Context(), tenant.Tenant{ID: "acme"}, "GET /")
			if err != nil || !d.Allowed {
				t.Fatalf("take %d: %+v, %v; want allowed", i, d, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		d, err := l.Take(t.Context(), tenant.Tenant{ID: "acme"}, "GET /")
		if err != nil || d.Reason != tenant.ReasonWindow || d.RetryAfter != time.Minute-300*time.Millisecond {
			t.Fatalf("reason %q, RetryAfter %v, %v; want window, 59.7s", d.Reason, d.RetryAfter, err)
		}
		time.Sleep(d.RetryAfter)
		if d, err := l.Take(t.Context(), tenant.Tenant{ID: "acme"}, "GET /"); err != nil || !d.Allowed {
			t.Fatalf("after the promised wait: %+v, %v; want allowed", d, err)
		}
	})
}

func TestLimiter_DecidesAfterClose(t *testing.T) {
	f := newFixture(t, quota.Config{}, tenant.Tier{Name: "free", Rate: 1, Burst: 1}, tenant.Tier{Name: "pro", Rate: 10, Burst: 1})
	f.Close()
	f.Close()
	f.mustTake("free", "GET /")
	if f.Memory().Armed() {
		t.Error("a closed limiter set its timer")
	}
	f.mustRefuse("free", "GET /", tenant.ReasonTenant, "free")
	must(t, f.tiers.Assign("acme", "pro"))
	if d := f.mustRefuse("free", "GET /", tenant.ReasonTenant, "pro"); d.RetryAfter != 100*time.Millisecond {
		t.Errorf("RetryAfter %v, want 100ms", d.RetryAfter)
	}
	must(t, f.tiers.Define(tenant.Tier{Name: "free", Rate: 1})) // nobody objects any more
}
