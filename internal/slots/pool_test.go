package slots_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bothRules = map[string]slots.Rule{"fair": slots.Fair, "hard": slots.Hard}

// eachRule runs a test in virtual time for either rule.
func eachRule(t *testing.T, test func(t *testing.T, rule slots.Rule)) {
	t.Helper()
	for name, rule := range bothRules {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, rule) })
		})
	}
}

func newPool(t testing.TB, s slots.Settings) *slots.Pool {
	t.Helper()
	if s.Tiers == nil {
		s.Tiers = tiersOf(t, tenant.Tier{Name: "std", Share: 2})
	}
	s.Package = "slots"
	p, err := slots.NewPool(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func tiersOf(t testing.TB, tiers ...tenant.Tier) *tenant.Tiers {
	t.Helper()
	ts, err := tenant.NewTiers(tiers[0].Name, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func acquire(t testing.TB, p *slots.Pool, id string) func() {
	t.Helper()
	release, err := p.Acquire(t.Context(), &tenant.Tenant{ID: id}, 1)
	if err != nil {
		t.Fatalf("Acquire(%s) = %v", id, err)
	}
	return release
}

// later acquires a slot in the background, and returns once that is done or waits. The returned function tells whether
// it has ended, and how.
func later(ctx context.Context, p *slots.Pool, id string) (state func() (release func(), err error, done bool)) {
	return background(func() (func(), error) { return p.Acquire(ctx, &tenant.Tenant{ID: id}, 1) })
}

func background(acquire func() (func(), error)) (state func() (release func(), err error, done bool)) {
	var release func()
	var err error
	ended := make(chan struct{})
	go func() {
		release, err = acquire()
		close(ended)
	}()
	synctest.Wait()
	return func() (func(), error, bool) {
		synctest.Wait()
		select {
		case <-ended:
			return release, err, true
		default:
			return nil, nil, false
		}
	}
}

func wantUse(t testing.TB, p *slots.Pool, inUse, waiting int) {
	t.Helper()
	if s := p.Stats(); s.InUse != inUse || s.Waiting != waiting {
		t.Errorf("%d in use, %d waiting; want %d, %d", s.InUse, s.Waiting, inUse, waiting)
	}
}

func wantRefusal(t testing.TB, err error, reason tenant.Reason) {
	t.Helper()
	var r *tenant.Refusal
	if !errors.As(err, &r) || r.Reason != reason {
		t.Errorf("error is %v, want a refusal for %q", err, reason)
	}
}

func TestPool_ChangesOfTierTakeEffectAtOnce(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		tiers := tiersOf(t, tenant.Tier{Name: "small", Share: 1, Ceiling: 1}, tenant.Tier{Name: "big", Share: 3, Ceiling: 3})
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 8, Tiers: tiers})
		defer acquire(t, p, "a")()
		second, third := later(t.Context(), p, "a"), later(t.Context(), p, "a")
		wantUse(t, p, 1, 2)
		if err := tiers.Define(tenant.Tier{Name: "small", Share: 1, Ceiling: 2}); err != nil {
			t.Fatal(err)
		}
		if rule == slots.Hard { // ignores the ceiling
			wantUse(t, p, 1, 2)
			if err := tiers.Define(tenant.Tier{Name: "small", Share: 2}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err, done := second(); !done || err != nil {
			t.Fatalf("the tier has room for two, but the second got %v (done: %v)", err, done)
		}
		if err := tiers.Assign("a", "big"); err != nil {
			t.Fatal(err)
		}
		if _, err, done := third(); !done || err != nil {
			t.Fatalf("assigned a tier of three, but the third got %v (done: %v)", err, done)
		}
		if err := tiers.Define(tenant.Tier{Name: "big", Share: 0}); err == nil || !strings.Contains(err.Error(), "big: Share") {
			t.Errorf("Define of a tier without share = %v, want an error that names tier and field", err)
		}
	})
}

func TestPool_OlderAssertionDoesNotChangeTheTierBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, slots.Settings{Capacity: 8, Tiers: tiersOf(t,
			tenant.Tier{Name: "free", Share: 1, Ceiling: 1}, tenant.Tier{Name: "pro", Share: 2, Ceiling: 2})})
		now := time.Now()
		for _, who := range []tenant.Tenant{
			{ID: "a", Tier: "pro", TierAsOf: now}, {ID: "a", Tier: "free", TierAsOf: now.Add(-time.Hour)},
		} {
			release, ok := p.TryAcquire(who)
			if !ok {
				t.Fatalf("%v with iat %v got no slot", who, who.TierAsOf)
			}
			defer release()
			if got := p.TierOf(who); got != "pro" {
				t.Errorf("tier is %s, want pro", got)
			}
		}
	})
}

func TestNewPool_NamesWhatIsWrong(t *testing.T) {
	_, err := slots.NewPool(slots.Settings{Package: "fairslots"})
	for _, want := range []string{"fairslots: Capacity is 0", "fairslots: Tiers is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to contain %q", err, want)
		}
	}
	tiers := tiersOf(t, tenant.Tier{Name: "free", Share: 1})
	if _, err := slots.NewPool(slots.Settings{Tiers: tiers}); err == nil {
		t.Error("a pool without capacity is no error")
	}
	if err := tiers.Define(tenant.Tier{Name: "free"}); err != nil {
		t.Errorf("the pool that was not made still watches the catalogue: %v", err)
	}
	_, err = slots.NewPool(slots.Settings{Package: "bulkhead", Capacity: 1, Tiers: tiersOf(t,
		tenant.Tier{Name: "free"}, tenant.Tier{Name: "pro"})})
	for _, want := range []string{"bulkhead: tier free: Share is 0", "bulkhead: tier pro: Share is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to contain %q", err, want)
		}
	}
}

func TestPool_StatsAreWhatIsHeldAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, slots.Settings{Capacity: 1, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 2, Ceiling: 3})})
		defer acquire(t, p, "a")()
		later(t.Context(), p, "b")
		want := tenant.SlotStats{Capacity: 1, InUse: 1, Waiting: 1, Tenants: []tenant.TenantSlots{
			{ID: "a", Tier: "std", Share: 2, Ceiling: 3, InUse: 1}, {ID: "b", Tier: "std", Share: 2, Ceiling: 3, Waiting: 1},
		}}
		anyOrder := cmpopts.SortSlices(func(a, b tenant.TenantSlots) bool { return a.ID < b.ID })
		if diff := cmp.Diff(want, p.Stats(), anyOrder); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
		p.Close()
		want.Closing, want.Waiting, want.Tenants[1].Waiting = true, 0, 0
		if diff := cmp.Diff(want, p.Stats(), anyOrder); diff != "" {
			t.Errorf("stats of a closed pool (-want +got):\n%s", diff)
		}
	})
}
