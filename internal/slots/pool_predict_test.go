package slots_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

// heldASecond is a pool that knows that requests of "a" hold their slots for a second.
func heldASecond(t *testing.T, s slots.Settings) *slots.Pool {
	t.Helper()
	p := newPool(t, s)
	for range 30 {
		release := acquire(t, p, "a")
		time.Sleep(time.Second)
		release()
	}
	return p
}

func within(t *testing.T, timeout time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

func TestPool_WaitThatIsPredictedToBeTooLongIsRefusedAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name     string
		capacity int
		holder   string // of all slots
		maxWait  time.Duration
		timeout  time.Duration
		waits    bool // until the bound
		reason   tenant.Reason
		late     bool // the deadline was the bound
	}{
		{"beyond the deadline, at its share", 1, "a", -1, 500 * time.Millisecond, false, tenant.ReasonShare, true},
		{"beyond the deadline, below its share", 1, "b", -1, 500 * time.Millisecond, false, tenant.ReasonCapacity, true},
		{"beyond MaxWait, at its share", 1, "a", 500 * time.Millisecond, time.Minute, false, tenant.ReasonShare, false},
		{"beyond MaxWait, below its share", 1, "b", 500 * time.Millisecond, time.Minute, false, tenant.ReasonCapacity, false},
		{"MaxWait before the deadline", 1, "b", 400 * time.Millisecond, 500 * time.Millisecond, false, tenant.ReasonCapacity, false},
		{"the deadline before MaxWait", 1, "b", 500 * time.Millisecond, 400 * time.Millisecond, false, tenant.ReasonCapacity, true},
		{"within the deadline", 1, "b", -1, 1100 * time.Millisecond, true, tenant.ReasonCapacity, true},
		{"with fewer before it than it may get slots", 2, "b", -1, 100 * time.Millisecond, true, tenant.ReasonCapacity, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachRule(t, func(t *testing.T, rule slots.Rule) {
				p := heldASecond(t, slots.Settings{
					Rule: rule, Capacity: tt.capacity, MaxWait: tt.maxWait, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 2}),
				})
				for range tt.capacity {
					defer acquire(t, p, tt.holder)()
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first := later(ctx, p, "a")
				start := time.Now()
				_, err := p.Acquire(within(t, tt.timeout), &tenant.Tenant{ID: "a"}, 1)
				wantRefusal(t, err, tt.reason)
				if waited := time.Since(start); (waited > 0) != tt.waits {
					t.Errorf("it was refused after %v, want at once: %v", waited, !tt.waits)
				}
				if late := errors.Is(err, context.DeadlineExceeded); late != tt.late {
					t.Errorf("%v matches context.DeadlineExceeded: %v, want %v", err, late, tt.late)
				}
				if _, err, done := first(); done && !tt.waits {
					t.Errorf("the first in the queue got %v, want it to wait on", err)
				}
			})
		})
	}
}

// It may not come to wait, and there is no telling.
func TestPool_FirstInTheQueueIsNeverRefusedByPrediction(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := heldASecond(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: time.Millisecond})
		defer acquire(t, p, "b")()
		start := time.Now()
		_, err := p.Acquire(t.Context(), &tenant.Tenant{ID: "a"}, 1)
		wantRefusal(t, err, tenant.ReasonCapacity)
		if waited := time.Since(start); waited != time.Millisecond {
			t.Errorf("the first in the queue was refused after %v, want after MaxWait", waited)
		}
	})
}

func TestPool_NobodyIsRefusedByPredictionWithoutHistory(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: -1})
		defer acquire(t, p, "b")()
		ctx := within(t, time.Nanosecond)
		for i := range 50 {
			if _, err, done := later(ctx, p, "a")(); done {
				t.Fatalf("request %d got %v before its deadline", i, err)
			}
		}
		wantUse(t, p, 1, 50)
		time.Sleep(time.Nanosecond)
	})
}

// A request that is wider than its tenant's limit gets the limit, so that those behind it wait no longer than it takes.
func TestPool_PredictionCountsWhatWideRequestsGet(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 2, Ceiling: 2})
		p := heldASecond(t, slots.Settings{Rule: rule, Capacity: 4, MaxWait: -1, Tiers: tiers})
		release := acquireN(t, p, "a", 9)
		ctx := within(t, 2100*time.Millisecond)
		first, second := laterN(ctx, p, "a", 9), laterN(ctx, p, "a", 9)
		wantUse(t, p, 2, 2)
		time.Sleep(time.Second)
		release()
		for _, waiter := range []func() (func(), error, bool){first, second} {
			release, err, done := waiter()
			if !done || err != nil {
				t.Fatalf("a wide request got %v (done: %v), want slots", err, done)
			}
			time.Sleep(time.Second)
			release()
		}
	})
}

// What was said of one request is not said of the next that is kept in the same place.
func TestPool_RefusalAfterALateOneIsNotLate(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxQueue: -1})
		defer acquire(t, p, "b")()
		_, err := p.Acquire(within(t, -1), &tenant.Tenant{ID: "a"}, 1)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a request that came late got %v", err)
		}
		_, err = p.Acquire(t.Context(), &tenant.Tenant{ID: "a"}, 1)
		wantRefusal(t, err, tenant.ReasonCapacity)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request without a deadline got %v, which matches context.DeadlineExceeded", err)
		}
	})
}

func TestPool_DeadlineOfAnEarlierRequestDoesNotCount(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := heldASecond(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: -1})
		release := acquire(t, p, "b")
		first := later(t.Context(), p, "a")
		_, err := p.Acquire(within(t, time.Millisecond), &tenant.Tenant{ID: "a"}, 1)
		wantRefusal(t, err, tenant.ReasonCapacity)
		second := later(t.Context(), p, "a") // in what the refused one was kept in
		for _, waiter := range []func() (func(), error, bool){first, second} {
			release()
			var done bool
			if release, err, done = waiter(); !done || err != nil {
				t.Fatalf("a request without a deadline got %v (done: %v), want a slot", err, done)
			}
		}
		release()
	})
}
