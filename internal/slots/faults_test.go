package slots_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

// The head of a tenant's queue waits for its own limit while the pool has free slots: its leaving must not leave the
// one behind it, nor anybody else, waiting for something that has happened already.
func TestPool_CancelledHeadBesideFreeSlotsLosesNoTurn(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 8, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 1, Ceiling: 1})})
		release := acquire(t, p, "a")
		ctx, cancel := context.WithCancel(t.Context())
		head, behind := later(ctx, p, "a"), later(t.Context(), p, "a")
		acquire(t, p, "b")() // does not wait behind a's head
		release()
		got, err, done := head()
		if !done || err != nil {
			t.Fatalf("the head got %v (done: %v), want a slot", err, done)
		}
		next := later(ctx, p, "a")
		cancel()
		if _, _, done := behind(); done {
			t.Fatal("a cancelled waiter's turn let another exceed the limit")
		}
		if _, err, done := next(); !done || !errors.Is(err, context.Canceled) {
			t.Fatalf("the cancelled waiter got %v (done: %v)", err, done)
		}
		got()
		last, err, done := behind()
		if !done || err != nil {
			t.Fatalf("the one behind the cancelled head got %v (done: %v), want a slot", err, done)
		}
		last()
		wantUse(t, p, 0, 0)
	})
}

// Whatever of two things at one instant comes first, nothing is lost. Not in a bubble: real goroutines meet in more
// orders than virtual time has.
func TestPool_EndsThatRaceLoseNothing(t *testing.T) {
	race := map[string]func(p *slots.Pool, release, cancel func()){
		"cancel and release": func(_ *slots.Pool, release, cancel func()) {
			go cancel()
			release()
		},
		"close and release": func(p *slots.Pool, release, _ func()) {
			go p.Close()
			release()
		},
		"close and cancel": func(p *slots.Pool, release, cancel func()) {
			go cancel()
			p.Close()
			release()
		},
		"resize and release": func(p *slots.Pool, release, _ func()) {
			go func() { _ = p.Resize(2) }()
			release()
		},
	}
	for name, end := range race {
		t.Run(name, func(t *testing.T) {
			for range 300 {
				p := newPool(t, slots.Settings{Capacity: 1, MaxWait: -1})
				release := acquire(t, p, "a")
				ctx, cancel := context.WithCancel(t.Context())
				var waiters sync.WaitGroup
				for _, id := range []string{"a", "b", "c"} { // some park before, some while, some after it happens
					waiters.Go(func() {
						if release, err := p.Acquire(ctx, &tenant.Tenant{ID: id}, 1); err == nil {
							release()
						}
					})
				}
				end(p, release, cancel)
				waiters.Wait()
				cancel()
				if err := p.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				wantUse(t, p, 0, 0)
				p.Close()
			}
		})
	}
}

// ending is a context whose deadline runs out when done is closed.
type ending struct {
	context.Context
	done chan struct{}
}

func (e ending) Done() <-chan struct{} { return e.done }

func (e ending) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// The deadline wakes the waiter, and before it can say so a slot is granted to it: the slot goes to the next.
func TestPool_DeadlineAtTheInstantOfAReleaseLosesNoSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		for range 200 {
			p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: -1, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 1})})
			release := acquire(t, p, "a")
			ctx := ending{t.Context(), make(chan struct{})}
			first, second := later(ctx, p, "b"), later(t.Context(), p, "c")
			close(ctx.done)
			release()
			if got, err, _ := first(); err == nil {
				got()
			} else {
				wantRefusal(t, err, tenant.ReasonCapacity) // it never had its share, also where a slot came too late
			}
			got, err, done := second()
			if !done || err != nil {
				t.Fatalf("the next waiter got %v (done: %v), want a slot", err, done)
			}
			got()
			wantUse(t, p, 0, 0)
			p.Close()
		}
	})
}

func TestPool_PanicFreesTheSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		func() {
			defer func() {
				if got := recover(); got != "a handler's" {
					t.Errorf("recovered %v, want what the handler panicked with", got)
				}
			}()
			defer acquire(t, p, "a")()
			panic("a handler's")
		}()
		wantUse(t, p, 0, 0)
		acquire(t, p, "b")()
	})
}

func TestPool_FloodAgainstAStuckBackendIsRefusedInFlatMemory(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 2, MaxQueue: 50, MaxWaiting: 80, MaxWait: -1})
		defer acquire(t, p, "a")()
		defer acquire(t, p, "a")()
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		for range 50 {
			go func() { _, _ = p.Acquire(ctx, &tenant.Tenant{ID: "a"}, 1) }()
		}
		synctest.Wait()
		flood := func() {
			for range 20_000 {
				_, err := p.Acquire(ctx, &tenant.Tenant{ID: "a"}, 1)
				var r *tenant.Refusal
				if !errors.As(err, &r) || r.Reason != tenant.ReasonShare {
					t.Fatalf("beyond the bound: %v, want a refusal for share", err)
				}
			}
		}
		flood()
		before := heapInUse()
		flood()
		if after := heapInUse(); after > before+64<<10 {
			t.Errorf("20,000 refusals keep %d bytes", after-before)
		}
		wantUse(t, p, 2, 50)
	})
}

// The slots of a tenant whose work never ends are lost to the others only up to its limit.
func TestPool_StalledTenantLeavesTheOthersTheirShare(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 10, MaxWait: -1, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 4, Ceiling: 4})})
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		for range 20 {
			go func() { _, _ = p.Acquire(ctx, &tenant.Tenant{ID: "stalled"}, 1) }()
		}
		synctest.Wait()
		for range 50 {
			var held []func()
			for range 4 {
				release, ok := p.TryAcquire(tenant.Tenant{ID: "other"})
				if !ok {
					t.Fatal("the other tenant did not get its share at once")
				}
				held = append(held, release)
			}
			for _, release := range held {
				release()
			}
		}
		wantUse(t, p, 4, 16)
	})
}

func TestPool_TierChangeOfAHolderThatWaitsKeepsTheCounts(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		tiers := tiersOf(t, tenant.Tier{Name: "small", Share: 1, Ceiling: 1}, tenant.Tier{Name: "big", Share: 3, Ceiling: 3})
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 4, Tiers: tiers, MaxWait: -1})
		if err := tiers.Assign("a", "big"); err != nil {
			t.Fatal(err)
		}
		held := []func(){acquire(t, p, "a"), acquire(t, p, "a"), acquire(t, p, "a")}
		waiter := later(t.Context(), p, "a")
		if err := tiers.Assign("a", "small"); err != nil {
			t.Fatal(err)
		}
		wantUse(t, p, 3, 1)
		for i, release := range held {
			if _, _, done := waiter(); done {
				t.Fatalf("a slot was granted with %d held on a tier of one", len(held)-i)
			}
			release()
		}
		last, err, done := waiter()
		if !done || err != nil {
			t.Fatalf("what was held has drained, but the waiter got %v (done: %v)", err, done)
		}
		wantUse(t, p, 1, 0)
		tiers.Unassign("a")
		last()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_LongestMaxWaitDoesNotOverflow(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: math.MaxInt64})
		acquire(t, p, "idle")()
		release := acquire(t, p, "a")
		time.Sleep(time.Second)
		waiter := later(t.Context(), p, "b")
		time.Sleep(time.Hour)
		if _, err, done := waiter(); done {
			t.Fatalf("the waiter got %v within an hour", err)
		}
		if n := len(p.Stats().Tenants); n != 2 {
			t.Errorf("%d tenants are remembered, want the two that hold and wait", n)
		}
		release()
		if _, err, done := waiter(); !done || err != nil {
			t.Fatalf("the waiter got %v (done: %v), want a slot", err, done)
		}
	})
}

func TestPool_LateRequestOfAClosingPoolIsRefusedAsClosing(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 1})
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, Tiers: tiers})
		p.Close()
		if err := tiers.Define(tenant.Tier{Name: "std"}); err != nil {
			t.Fatalf("a closed pool objects to a tier: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), -1)
		defer cancel()
		_, err := p.Acquire(ctx, &tenant.Tenant{ID: "a"}, 1)
		wantRefusal(t, err, tenant.ReasonClosing)
		var r *tenant.Refusal
		if errors.As(err, &r) && r.RetryAfter != 0 {
			t.Errorf("RetryAfter is %v, want none", r.RetryAfter)
		}
		wantUse(t, p, 0, 0)
	})
}
