package quota_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/quotatest"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestMemory_KeepsTheContract(t *testing.T) {
	c := &clock{now: noon.Add(-time.Second)}
	quotatest.Run(t, quotatest.Config{
		New:     func(testing.TB) quota.Store { return quota.NewMemory(c.Now) },
		Advance: c.Advance,
	})
}

// A tier may be newer than the rules that came with a call: its windows count all the same.
func TestMemory_CountsAWindowThatTheRulesDoNotKnowYet(t *testing.T) {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Month: 2}})
	must(t, err)
	for name, now := range map[string]func() time.Time{"machine's clock": nil, "clock": (&clock{now: noon}).Now} {
		m := quota.NewMemory(now)
		calls := []quota.Call{{Tenant: "acme", Cost: 1}, {Tenant: "acme", Cost: 1}, {Tenant: "acme", Cost: 1}}
		must(t, m.Take(t.Context(), quota.Rules{Tiers: tiers}, calls))
		if !calls[1].Result.Allowed || calls[2].Result.Reason != tenant.ReasonWindow {
			t.Errorf("%s: second call allowed %t, third refused by %q; want true, window",
				name, calls[1].Result.Allowed, calls[2].Result.Reason)
		}
		if wait := calls[2].Result.RetryAfter; wait <= 0 || wait > 31*24*time.Hour {
			t.Errorf("%s: RetryAfter %v, want the rest of a month", name, wait)
		}
		must(t, m.Close())
	}
}

func TestMemory_RefundOfLessThanNothingTakesNothing(t *testing.T) {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 0, Burst: 10})
	must(t, err)
	rules := quota.Rules{Tiers: tiers}
	m := quota.NewMemory(nil)
	calls := []quota.Call{{Tenant: "acme", Cost: 1}}
	must(t, m.Take(t.Context(), rules, calls))
	charge := calls[0].Result.Charge
	charge.Units = -5
	must(t, m.Refund(t.Context(), rules, []quota.Charge{charge}))
	must(t, m.Take(t.Context(), rules, calls))
	if got := calls[0].Result.Tokens; got != 8 {
		t.Errorf("%v tokens, want 8", got)
	}
	must(t, m.Close())
}

// brokenStore fails, and notes what it was asked.
type brokenStore struct {
	*quota.Memory
	err    error
	before func()
	closed int
}

func (s *brokenStore) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	if s.before != nil {
		s.before()
	}
	if s.err != nil {
		calls[0].Result = quota.Result{Allowed: true} // means nothing
		return s.err
	}
	return s.Memory.Take(ctx, rules, calls)
}

func (s *brokenStore) Refund(ctx context.Context, rules quota.Rules, charges []quota.Charge) error {
	if s.err != nil {
		return s.err
	}
	return s.Memory.Refund(ctx, rules, charges)
}

func (s *brokenStore) Usage(context.Context, quota.Rules, *quota.Call) error {
	return s.err
}

func (s *brokenStore) Close() error { s.closed++; return nil }

func TestLimiter_RefusesWhereTheStoreFails(t *testing.T) {
	down := errors.New("store: down")
	store := &brokenStore{Memory: quota.NewMemory(nil), err: down}
	f := newFixture(t, quota.Config{Store: store, Costs: perUnit()}, freeAndPro()...)
	want := quota.Decision{
		Reason: tenant.ReasonUnavailable, RetryAfter: time.Second,
		Tenant: "acme", Tier: "pro", Operation: "3", Cost: 3,
	}
	equal(t, "Take", f.take("pro", "3"), want)
	equal(t, "Peek", f.peek("pro", "3"), want)
	if _, err := f.Usage(t.Context(), tenant.Tenant{ID: "acme"}); !errors.Is(err, down) {
		t.Errorf("Usage: %v, want the store's error", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	store.before = cancel
	if _, err := f.Take(ctx, tenant.Tenant{ID: "acme"}, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("Take on a context that ended in the store: %v, want context.Canceled", err)
	}
}

func TestLimiter_LosesARefundThatFailedRatherThanRepeatIt(t *testing.T) {
	store := &brokenStore{Memory: quota.NewMemory(nil)}
	f := newFixture(t, quota.Config{Store: store, Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 1e-6, Burst: 10})
	d := f.mustTake("free", "4")
	store.err = errors.New("store: no reply")
	if err := f.Refund(t.Context(), &d); !errors.Is(err, store.err) {
		t.Errorf("Refund: %v, want the store's error", err)
	}
	store.err = nil
	must(t, f.Refund(t.Context(), &d))
	if now := f.peek("free", "1"); now.Remaining != 6 || d.Remaining != 6 {
		t.Errorf("Remaining %d, in the decision %d; want 6, 6", now.Remaining, d.Remaining)
	}
}

func TestLimiter_LeavesAStoreThatItWasGivenOpen(t *testing.T) {
	store := &brokenStore{Memory: quota.NewMemory(nil)}
	f := newFixture(t, quota.Config{Store: store}, freeAndPro()...)
	f.Close()
	if store.closed != 0 {
		t.Errorf("closed %d times, want 0", store.closed)
	}
}

func TestRules_ApplicableTier(t *testing.T) {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free"}, tenant.Tier{Name: "pro"}, tenant.Tier{Name: "max"})
	must(t, err)
	must(t, tiers.Assign("local", "pro"))
	local, _ := tiers.Assigned("local")
	rules := quota.Rules{Tiers: tiers}
	at := func(tier string, after time.Duration) tenant.Assertion {
		return tenant.Assertion{Tier: tier, AsOf: local.AsOf.Add(after)}
	}
	for _, tt := range []struct {
		name, id           string
		assigned, asserted tenant.Assertion
		want               string
	}{
		{"nothing is known", "acme", tenant.Assertion{}, tenant.Assertion{}, "free"},
		{"asserted", "acme", tenant.Assertion{}, at("max", 0), "max"},
		{"asserted, and unknown", "acme", tenant.Assertion{}, at("gold", 0), "free"},
		{"assigned in the store", "acme", at("pro", -time.Hour), at("max", 0), "pro"},
		{"assigned here", "local", tenant.Assertion{}, at("max", time.Hour), "pro"},
		{"assigned here, later in the store", "local", at("max", 1), tenant.Assertion{}, "max"},
		{"assigned here, earlier in the store", "local", at("max", -1), tenant.Assertion{}, "pro"},
		{"assigned here and in the store at one instant", "local", at("max", 0), tenant.Assertion{}, "pro"},
	} {
		if got := rules.ApplicableTier(tt.id, tt.assigned, tt.asserted).Name; got != tt.want {
			t.Errorf("%s: tier %q, want %q", tt.name, got, tt.want)
		}
	}
}
