package slots_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestPool_ResizeDrains(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 8, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 8})})
		var held []func()
		for range 5 {
			held = append(held, acquire(t, p, "a"))
		}
		if err := p.Resize(1); err != nil {
			t.Fatal(err)
		}
		first, second := later(t.Context(), p, "b"), later(t.Context(), p, "b")
		for i, release := range held {
			if _, _, done := first(); done {
				t.Fatalf("a slot was granted with %d held at capacity 1", len(held)-i)
			}
			release()
		}
		release, err, _ := first()
		if err != nil || release == nil {
			t.Fatal("drained, but the first waiter got no slot", err)
		}
		if _, _, done := second(); done {
			t.Fatal("two slots were granted at capacity 1")
		}
		if err := p.Resize(2); err != nil {
			t.Fatal(err)
		}
		if _, err, done := second(); !done || err != nil {
			t.Fatal("capacity 2, but the second waiter got no slot", err)
		}
		for _, n := range []int{0, -1} {
			if err := p.Resize(n); err == nil || !strings.Contains(err.Error(), "Capacity") {
				t.Errorf("Resize(%d) = %v, want an error that names Capacity", n, err)
			}
		}
	})
}

func TestPool_DrainWaitsForHoldersAndWaiters(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		release := acquire(t, p, "a")
		waiter := later(t.Context(), p, "b")
		drained := make(chan error, 1)
		go func() { drained <- p.Drain(context.Background()) }()
		synctest.Wait()
		_, err := p.Acquire(t.Context(), &tenant.Tenant{ID: "c"}, 1)
		wantRefusal(t, err, tenant.ReasonClosing)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain while a slot is held = %v, want context.DeadlineExceeded", err)
		}
		release()
		next, err, _ := waiter()
		if err != nil {
			t.Fatalf("the waiter got %v while draining, want a slot", err)
		}
		select {
		case err := <-drained:
			t.Fatalf("Drain returned %v with a slot held", err)
		default:
		}
		next()
		if err := <-drained; err != nil {
			t.Errorf("Drain = %v", err)
		}
		if err := p.Drain(ctx); err != nil {
			t.Errorf("Drain of a drained pool = %v", err)
		}
	})
}

func TestPool_CloseAnswersAllWaiters(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		release := acquire(t, p, "a")
		waiters := []func() (func(), error, bool){later(t.Context(), p, "a"), later(t.Context(), p, "b")}
		p.Close()
		p.Close()
		for _, w := range waiters {
			_, err, _ := w()
			wantRefusal(t, err, tenant.ReasonClosing)
		}
		release()
		if err := p.Drain(t.Context()); err != nil {
			t.Errorf("Drain = %v", err)
		}
	})
}

func TestPool_DrainOfAnIdlePoolIsDoneHoweverLateItIs(t *testing.T) {
	p := newPool(t, slots.Settings{Capacity: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // of two things that have happened a select takes either
		if err := p.Drain(ctx); err != nil {
			t.Fatalf("Drain = %v", err)
		}
	}
}
