package slots_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestPool_CancelledWaiterGivesSlotToNext(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		release := acquire(t, p, "a")
		ctx, cancel := context.WithCancel(t.Context())
		first, second := later(ctx, p, "b"), later(t.Context(), p, "c")
		cancel()
		if _, err, done := first(); !done || !errors.Is(err, context.Canceled) {
			t.Fatalf("the cancelled waiter got %v (done: %v), want context.Canceled", err, done)
		}
		wantUse(t, p, 1, 1)
		release()
		got, err, done := second()
		if !done || err != nil {
			t.Fatalf("the next waiter got %v (done: %v), want a slot", err, done)
		}
		got()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_WaitersThatTimedOutGetNoSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: time.Second})
		release := acquire(t, p, "a")
		own, other := later(t.Context(), p, "a"), later(t.Context(), p, "b")
		start := time.Now()
		time.Sleep(time.Second - 1)
		if _, _, done := other(); done {
			t.Fatal("a waiter was answered before MaxWait")
		}
		time.Sleep(time.Nanosecond)
		_, err, _ := own()
		wantRefusal(t, err, tenant.ReasonShare)
		_, err, _ = other()
		wantRefusal(t, err, tenant.ReasonCapacity)
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v, want 1s", waited)
		}
		release()
		acquire(t, p, "c")()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_EveryWaitEndsByMaxWait(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: time.Second})
		acquire(t, p, "idle")() // to be forgotten in ten seconds, later than what follows
		defer acquire(t, p, "a")()
		for i := range 12 {
			start := time.Now()
			_, err := p.Acquire(t.Context(), &tenant.Tenant{ID: "b"}, 1)
			wantRefusal(t, err, tenant.ReasonCapacity)
			if waited := time.Since(start); waited != time.Second {
				t.Fatalf("wait %d ended after %v, want 1s", i, waited)
			}
		}
	})
}

func TestPool_DeadlineIsRefusedAsMaxWait(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: -1})
		defer acquire(t, p, "a")()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := p.Acquire(ctx, &tenant.Tenant{ID: "b"}, 1)
		wantRefusal(t, err, tenant.ReasonCapacity)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v does not match context.DeadlineExceeded", err)
		}
		_, err = p.Acquire(ctx, &tenant.Tenant{ID: "a"}, 1) // the deadline is over before it comes
		wantRefusal(t, err, tenant.ReasonShare)
		wantUse(t, p, 1, 0)
	})
}

func TestPool_EndedContextTakesNoFreeSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Acquire(ctx, &tenant.Tenant{ID: "a"}, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire with a cancelled context = %v, want context.Canceled", err)
		}
		wantUse(t, p, 0, 0)
	})
}

func TestPool_ReleaseTwiceFreesOneSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 2})
		first := acquire(t, p, "a")
		first()
		again := acquire(t, p, "b") // reuses what the first slot was kept in
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(first)
		}
		wg.Wait()
		wantUse(t, p, 1, 0)
		wg.Go(again)
		wg.Go(again)
		wg.Wait()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_OneReleaseWakesOneWaiter(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxQueue: 1000, MaxWait: -1})
		release := acquire(t, p, "holder")
		ctx, cancel := context.WithCancel(t.Context())
		var granted, ended atomic.Int64
		for i := range 1000 {
			go func() {
				if _, err := p.Acquire(ctx, &tenant.Tenant{ID: fmt.Sprint("t", i%50)}, 1); err == nil {
					granted.Add(1)
				}
				ended.Add(1)
			}()
		}
		synctest.Wait()
		release()
		synctest.Wait()
		if n := ended.Load(); n != 1 || granted.Load() != 1 {
			t.Errorf("one release woke %d waiters and granted %d slots, want one", n, granted.Load())
		}
		cancel()
		synctest.Wait()
	})
}

func TestPool_QueuesAreBounded(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxQueue: 3, MaxWaiting: 5})
		defer acquire(t, p, "holder")()
		for range 3 {
			later(t.Context(), p, "flooder")
		}
		synctest.Wait()
		_, err := p.Acquire(t.Context(), &tenant.Tenant{ID: "flooder"}, 1)
		wantRefusal(t, err, tenant.ReasonShare)
		later(t.Context(), p, "b")
		later(t.Context(), p, "c")
		wantUse(t, p, 1, 5)
		light := later(t.Context(), p, "light") // pushes out the flooder's newest
		if _, err, done := light(); done {
			t.Errorf("the light tenant got %v, want it to wait", err)
		}
		wantUse(t, p, 1, 5)
		for _, s := range p.Stats().Tenants {
			if want := map[string]int{"flooder": 2, "b": 1, "c": 1, "light": 1}[s.ID]; s.Waiting != want {
				t.Errorf("%s has %d waiting, want %d", s.ID, s.Waiting, want)
			}
		}
		p.Close()
	})
}

func TestPool_NegativeBoundsLetNobodyWait(t *testing.T) {
	for _, s := range []slots.Settings{{MaxQueue: -1}, {MaxWaiting: -1}} {
		s.Capacity = 1
		p := newPool(t, s)
		defer acquire(t, p, "a")()
		_, err := p.Acquire(t.Context(), &tenant.Tenant{ID: "b"}, 1)
		wantRefusal(t, err, tenant.ReasonCapacity)
		if _, ok := p.TryAcquire(tenant.Tenant{ID: "b"}); ok {
			t.Error("TryAcquire took a slot of a full pool")
		}
	}
}

func TestPool_RefusesAnInvalidID(t *testing.T) {
	p := newPool(t, slots.Settings{Capacity: 1})
	for _, id := range []string{"", "../x", "a b", "__other__"} {
		if _, err := p.Acquire(t.Context(), &tenant.Tenant{ID: id}, 1); !errors.Is(err, tenant.ErrInvalidID) {
			t.Errorf("Acquire(%q) = %v, want ErrInvalidID", id, err)
		}
		if _, ok := p.TryAcquire(tenant.Tenant{ID: id}); ok {
			t.Errorf("TryAcquire(%q) took a slot", id)
		}
	}
	if len(p.Stats().Tenants) > 0 {
		t.Error("an invalid ID is remembered")
	}
	acquire(t, p, tenant.AnonymousID)()
}
