package quota_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// newReserve returns a limiter whose cluster regains 2 units a second up to 40, of which the last 10 are reserved.
func newReserve(t *testing.T) *fixture {
	return newFixture(t, quota.Config{Costs: perUnit(), Global: quota.Rate{PerSecond: 2, Burst: 40}, GlobalReserve: 0.25},
		tenant.Tier{Name: "free", Rate: 1, Burst: 10},
		tenant.Tier{Name: "still", Rate: 0, Burst: 10},
		tenant.Tier{Name: "open", Rate: tenant.Unlimited})
}

// mustTakeAs takes the operation as tenant id, on the tier.
func (f *fixture) mustTakeAs(id, tier, operation string) quota.Decision {
	f.t.Helper()
	d := f.takeAs(tenant.Tenant{ID: id, Tier: tier}, operation)
	if !d.Allowed {
		f.t.Fatalf("%s (%s), cost %s: refused by %s %q, want allowed", id, tier, operation, d.Reason, d.Policy)
	}
	return d
}

// mustRefuseAs takes it likewise, and wants it refused by the cluster for that long.
func (f *fixture) mustRefuseAs(id, tier, operation string, wait time.Duration) {
	f.t.Helper()
	d := f.takeAs(tenant.Tenant{ID: id, Tier: tier}, operation)
	if d.Reason != tenant.ReasonGlobal || d.Policy != "cluster" || d.RetryAfter != wait {
		f.t.Fatalf("%s (%s), cost %s: allowed %t, reason %q, policy %q, RetryAfter %v; want refused, global, cluster, %v",
			id, tier, operation, d.Allowed, d.Reason, d.Policy, d.RetryAfter, wait)
	}
}

// mustWait has the clock show the last instant before wait is over, at which it is refused yet, and the one at which it
// is.
func (f *fixture) mustWait(id, tier, operation string, wait time.Duration) {
	f.t.Helper()
	f.mustRefuseAs(id, tier, operation, wait)
	f.clock.Advance(wait - 1)
	f.mustRefuseAs(id, tier, operation, 1)
	f.clock.Advance(1)
	f.mustTakeAs(id, tier, operation)
}

// drain takes units from the cluster, as tenants that it finds with a full bucket.
func (f *fixture) drain(units int) {
	f.t.Helper()
	for ; units > 0; units -= 10 {
		f.mustTakeAs(fmt.Sprintf("drain-%d", units), "still", fmt.Sprint(min(units, 10)))
	}
}

func TestGlobalReserve_CrowdWithinItsLimitsDoesNotLockOutAQuietTenant(t *testing.T) {
	for _, tt := range []struct {
		name    string
		reserve float64
		crowd   int  // units that the crowd gets
		quiet   bool // whether another tenant, which has asked for nothing, is served after that
	}{
		{"without reserve", 0, 400, false},
		{"with reserve", 0.25, 300, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, quota.Config{
				Costs: perUnit(), Global: quota.Rate{PerSecond: 1e-6, Burst: 400}, GlobalReserve: tt.reserve,
			}, tenant.Tier{Name: "free", Rate: 1e-6, Burst: 10})
			const members = 45
			member := func(i int) string { return fmt.Sprintf("member-%d", i%members) }
			for i := range members {
				f.mustTakeAs(member(i), "", "6")
			}
			got := members * 6
			for i := 0; ; i++ {
				d := f.takeAs(tenant.Tenant{ID: member(i)}, "1")
				if !d.Allowed {
					if d.Reason != tenant.ReasonGlobal {
						t.Fatalf("%s is refused by %s, want the crowd within its limits", d.Tenant, d.Reason)
					}
					break
				}
				got++
			}
			if got != tt.crowd {
				t.Errorf("the crowd got %d, want %d", got, tt.crowd)
			}
			if d := f.takeAs(tenant.Tenant{ID: "quiet"}, "1"); d.Allowed != tt.quiet {
				t.Errorf("quiet tenant: allowed %t, reason %q; want allowed %t", d.Allowed, d.Reason, tt.quiet)
			}
		})
	}
}

func TestGlobalReserve_ServesATenantDownToHalfOfItsBucket(t *testing.T) {
	f := newReserve(t)
	f.drain(30) // the reserve is left
	for range 5 {
		f.mustTakeAs("acme", "still", "1")
	}
	f.mustTakeAs("acme", "still", "1") // from exactly the half
	f.mustRefuseAs("acme", "still", "1", 3500*time.Millisecond)
	f.mustTakeAs("acme", "still", "0")
	f.mustTakeAs("other", "still", "4")
	f.mustRefuseAs("third", "free", "1", 500*time.Millisecond) // the reserve has an end too
}

func TestGlobalReserve_WaitIsForTheHalfOrForTheLine(t *testing.T) {
	for _, tt := range []struct {
		name           string
		tier           string
		spent, drained int // by the tenant, of 10; and before that of the cluster's 40
		cost           string
		wait           time.Duration
	}{
		{"half full before the cluster has the cost above the line", "free", 6, 26, "1", time.Second},
		{"half full before the cluster has the cost", "free", 6, 33, "4", 1500 * time.Millisecond},
		{"above the line before half full", "free", 9, 21, "1", 500 * time.Millisecond},
		{"never half full", "still", 6, 30, "2", 4 * time.Second},
		{"no bucket", "open", 0, 33, "1", 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newReserve(t)
			f.drain(tt.drained)
			if tt.spent > 0 {
				f.mustTakeAs("acme", tt.tier, fmt.Sprint(tt.spent))
			}
			f.mustWait("acme", tt.tier, tt.cost, tt.wait)
		})
	}
}

func TestGlobalReserve_NeverServesAnUnlimitedTier(t *testing.T) {
	f := newReserve(t)
	for range 3 {
		f.mustTakeAs("big", "open", "10")
	}
	f.mustRefuseAs("big", "open", "1", 500*time.Millisecond)
	f.mustRefuseAs("new", "open", "1", 500*time.Millisecond)
	f.mustTakeAs("big", "open", "0")
	f.mustTakeAs("acme", "free", "10")
}

func TestGlobalReserve_CostThatDoesNotFitAboveItIsForQuietTenants(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit(), Global: quota.Rate{PerSecond: 1, Burst: 12}, GlobalReserve: 0.5},
		tenant.Tier{Name: "wide", Rate: 0.125, Burst: 20},
		tenant.Tier{Name: "open", Rate: tenant.Unlimited})
	f.mustRefuseAs("open", "open", "7", quota.Never)
	f.mustTakeAs("acme", "wide", "11") // 9 left, and 1 in the cluster
	f.mustWait("acme", "wide", "7", 8*time.Second)
}

func TestGlobalReserve_RefundPutsUnitsBackAboveIt(t *testing.T) {
	f := newReserve(t)
	f.mustTakeAs("acme", "still", "6")
	d := f.mustTakeAs("big", "still", "10")
	f.drain(20) // 4 left
	f.mustRefuseAs("acme", "still", "1", 3500*time.Millisecond)
	must(t, f.Refund(t.Context(), &d)) // 14
	f.mustTakeAs("acme", "still", "4")
	f.mustRefuseAs("open", "open", "1", 500*time.Millisecond)
	f.mustTakeAs("big", "still", "10") // of the reserve: it has its bucket back too
}

func TestGlobalReserve_WaitCountsFromAClockThatSteppedBack(t *testing.T) {
	f := newReserve(t)
	f.drain(26)
	f.mustTakeAs("acme", "free", "6")
	f.clock.Advance(-time.Second)
	f.mustWait("acme", "free", "1", 2*time.Second)
}

// A store learns the costs, in order, the one of operations without a cost of their own included.
func TestLimiter_TellsTheStoreItsCostsAndTheReserve(t *testing.T) {
	for _, tt := range []struct {
		name  string
		costs quota.Costs
		want  []int
	}{
		{"none", nil, []int{1}},
		{"several", quota.Costs{"a": 5, "b": 2, "c": 5, "d": 0}, []int{0, 1, 2, 5}},
		{"with default", quota.Costs{"a": 5, quota.DefaultOperation: 3}, []int{3, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &rulesStore{Memory: quota.NewMemory(nil)}
			f := newFixture(t, quota.Config{
				Store: store, Costs: tt.costs, Global: quota.Rate{PerSecond: 1, Burst: 10}, GlobalReserve: 0.25,
			}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
			f.mustTake("free", "a")
			equal(t, "costs", store.rules.Costs, tt.want)
			if store.rules.Reserve != 0.25 {
				t.Errorf("reserve %v, want 0.25", store.rules.Reserve)
			}
		})
	}
}

// rulesStore keeps the rules that came with the last call.
type rulesStore struct {
	*quota.Memory
	rules quota.Rules
}

func (s *rulesStore) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	s.rules = rules
	return s.Memory.Take(ctx, rules, calls)
}
