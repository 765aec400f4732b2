package slots_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

func acquireN(t testing.TB, p *slots.Pool, id string, n int) func() {
	t.Helper()
	release, err := p.Acquire(t.Context(), &tenant.Tenant{ID: id}, n)
	if err != nil {
		t.Fatalf("AcquireN(%s, %d) = %v", id, n, err)
	}
	return release
}

// laterN is later for several slots at once.
func laterN(ctx context.Context, p *slots.Pool, id string, n int) (state func() (release func(), err error, done bool)) {
	return background(func() (func(), error) { return p.Acquire(ctx, &tenant.Tenant{ID: id}, n) })
}

func TestPool_AcquireNOfNoSlotIsAnError(t *testing.T) {
	p := newPool(t, slots.Settings{Capacity: 1})
	for _, n := range []int{0, -1} {
		_, err := p.Acquire(t.Context(), &tenant.Tenant{ID: "a"}, n)
		if err == nil || !strings.Contains(err.Error(), "slots, want 1 or more") {
			t.Errorf("AcquireN of %d slots = %v, want an error that says so", n, err)
		}
	}
	if len(p.Stats().Tenants) > 0 {
		t.Error("a request without sense is remembered")
	}
}

func TestPool_RequestWiderThanTheLimitGetsTheLimit(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 8, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 3, Ceiling: 3})})
		release := acquireN(t, p, "a", 99)
		wantUse(t, p, 3, 0)
		next := laterN(t.Context(), p, "a", 99)
		if err := p.Resize(2); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(release)
		wg.Go(release)
		wg.Wait()
		got, err, done := next()
		if !done || err != nil {
			t.Fatalf("the next wide request got %v (done: %v), want slots", err, done)
		}
		wantUse(t, p, 2, 0)
		got()
		wantUse(t, p, 0, 0)
	})
}

// While a wide request is first, slots that come free are kept for it, and no more than it needs.
func TestPool_WideRequestWaitsForAsManySlotsAsItNeeds(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 4, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 4})})
		var held []func()
		for range 4 {
			held = append(held, acquire(t, p, "holder"))
		}
		before := later(t.Context(), p, "before")
		wide := laterN(t.Context(), p, "wide", 3)
		after := later(t.Context(), p, "after")
		held[0]()
		first, err, done := before()
		if !done || err != nil {
			t.Fatalf("the narrow request before the wide one got %v (done: %v), want the slot", err, done)
		}
		held[1]()
		held[2]()
		wantUse(t, p, 2, 2)
		if _, ok := p.TryAcquire(tenant.Tenant{ID: "late"}); ok {
			t.Error("a newcomer took a slot that is kept for a wide request")
		}
		held[3]()
		release, err, done := wide()
		if !done || err != nil {
			t.Fatalf("with three slots free, the wide request got %v (done: %v), want them", err, done)
		}
		wantUse(t, p, 4, 1)
		first()
		last, err, done := after()
		if !done || err != nil {
			t.Fatalf("the narrow request after the wide one got %v (done: %v), want a slot", err, done)
		}
		release()
		last()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_CancelledWideRequestFreesWhatIsKeptForIt(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 2, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 2})})
		defer acquire(t, p, "holder")()
		ctx, cancel := context.WithCancel(t.Context())
		wide := laterN(ctx, p, "wide", 2)
		narrow := later(t.Context(), p, "narrow")
		wantUse(t, p, 1, 2)
		cancel()
		if _, err, done := wide(); !done || err == nil {
			t.Fatalf("the cancelled request got %v (done: %v)", err, done)
		}
		release, err, done := narrow()
		if !done || err != nil {
			t.Fatalf("the next request got %v (done: %v), want the slot", err, done)
		}
		release()
		wantUse(t, p, 1, 0)
	})
}

// The total queue is full of a wide request for which a slot is kept. Whom it makes room for takes that slot, and is told
// so once.
func TestPool_WhoPushesOutAWideRequestTakesWhatWasKeptForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 1}, tenant.Tier{Name: "big", Share: 2})
		if err := tiers.Assign("big", "big"); err != nil {
			t.Fatal(err)
		}
		p := newPool(t, slots.Settings{Capacity: 2, Tiers: tiers, MaxWaiting: 1})
		release := acquire(t, p, "holder")
		wide := laterN(t.Context(), p, "wide", 2)
		acquire(t, p, "big")()
		_, err, _ := wide()
		wantRefusal(t, err, tenant.ReasonCapacity)
		wantUse(t, p, 1, 0)
		next := acquire(t, p, "big") // in what the last one was kept in
		waiter := later(t.Context(), p, "big")
		if _, err, done := waiter(); done {
			t.Fatalf("with no slot free, a request got %v", err)
		}
		release()
		last, err, done := waiter()
		if !done || err != nil {
			t.Fatalf("the waiter got %v (done: %v), want a slot", err, done)
		}
		next()
		last()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_TryAcquireAfterAWideRequestTakesOneSlot(t *testing.T) {
	p := newPool(t, slots.Settings{Capacity: 8, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 8})})
	acquireN(t, p, "a", 5)()
	release, ok := p.TryAcquire(tenant.Tenant{ID: "a"})
	if !ok {
		t.Fatal("no slot")
	}
	wantUse(t, p, 1, 0)
	release()
}
