package quota_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// clock is a clock that moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// noon is the noon of a first of March.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a limiter on a clock of its own.
type fixture struct {
	*quota.Limiter
	t     testing.TB
	clock *clock
	tiers *tenant.Tiers
}

// newFixture returns a limiter on these tiers, of which the first is the default. cfg may have costs and the like.
func newFixture(t testing.TB, cfg quota.Config, tiers ...tenant.Tier) *fixture {
	t.Helper()
	return newFixtureAt(t, noon, cfg, tiers...)
}

func newFixtureAt(t testing.TB, now time.Time, cfg quota.Config, tiers ...tenant.Tier) *fixture {
	t.Helper()
	catalogue, err := tenant.NewTiers(tiers[0].Name, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, clock: &clock{now: now}, tiers: catalogue}
	cfg.Tiers, cfg.Now = catalogue, f.clock.Now
	if f.Limiter, err = quota.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// perUnit are costs by which the operation "5" costs 5 units.
func perUnit() quota.Costs {
	return quota.Costs{"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9, "10": 10, "11": 11}
}

// take takes the operation as acme, on the tier.
func (f *fixture) take(tier, operation string) quota.Decision {
	f.t.Helper()
	return f.takeAs(tenant.Tenant{ID: "acme", Tier: tier}, operation)
}

func (f *fixture) takeAs(t tenant.Tenant, operation string) quota.Decision {
	f.t.Helper()
	d, err := f.Take(f.t.Context(), t, operation)
	if err != nil {
		f.t.Fatalf("Take(%v, %q): %v", t, operation, err)
	}
	return d
}

func (f *fixture) mustTake(tier, operation string) quota.Decision {
	f.t.Helper()
	d := f.take(tier, operation)
	if !d.Allowed {
		f.t.Fatalf("Take(%q, %q): refused by %s %q, want allowed", tier, operation, d.Reason, d.Policy)
	}
	return d
}

func (f *fixture) mustRefuse(tier, operation string, reason tenant.Reason, policy string) quota.Decision {
	f.t.Helper()
	d := f.take(tier, operation)
	if d.Allowed || d.Reason != reason || d.Policy != policy {
		f.t.Fatalf("Take(%q, %q): allowed %t, reason %q, policy %q; want refused, %q, %q",
			tier, operation, d.Allowed, d.Reason, d.Policy, reason, policy)
	}
	return d
}

func (f *fixture) peek(tier, operation string) quota.Decision {
	f.t.Helper()
	d, err := f.Peek(f.t.Context(), tenant.Tenant{ID: "acme", Tier: tier}, operation)
	if err != nil {
		f.t.Fatalf("Peek(%q): %v", operation, err)
	}
	return d
}

// used returns what acme used of the calendar quotas of the tier.
func (f *fixture) used(tier string) map[string]int64 {
	f.t.Helper()
	all, err := f.Usage(f.t.Context(), tenant.Tenant{ID: "acme", Tier: tier})
	if err != nil {
		f.t.Fatalf("Usage: %v", err)
	}
	used := map[string]int64{}
	for _, u := range all {
		used[u.Policy] = u.Used
	}
	return used
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal compares, but for what a decision keeps to itself.
func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
