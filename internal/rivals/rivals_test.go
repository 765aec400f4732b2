package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A comparison with a rival that lets too many run, or loses one, would be void.
func TestRivals_RunAsManyAsThereAreSlotsAndLoseNobody(t *testing.T) {
	for _, rival := range rivals {
		t.Run(rival.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rival.new(5)
				line := callers(200, 5)
				var running, most, ran atomic.Int64
				var all sync.WaitGroup
				for i := range line {
					all.Go(func() {
						err := r(t.Context(), &line[i], func() {
							n := running.Add(1)
							for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
							}
							time.Sleep(time.Millisecond)
							running.Add(-1)
							ran.Add(1)
						})
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if ran.Load() != 200 || most.Load() != capacity {
					t.Errorf("%d of 200 ran, at most %d at once, want all, and %d", ran.Load(), most.Load(), capacity)
				}
			})
		})
	}
}

// Whoever leaves the crowd must not hold up the rest, or the measurement would not end: afterwards each tenant gets what
// it may hold.
func TestRivals_LetGoOfWhoeverLeaves(t *testing.T) {
	for _, rival := range rivals {
		t.Run(rival.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rival.new(5)
				release := hold(t.Context(), r, callers(capacity, 5))
				ctx, cancel := context.WithCancel(t.Context())
				line := callers(50, 5)
				var all sync.WaitGroup
				for i := range line {
					all.Go(func() {
						if err := r(ctx, &line[i], func() {}); err == nil {
							t.Error("it ran, though all slots were held until it had left")
						}
					})
				}
				synctest.Wait()
				cancel()
				all.Wait()
				release()
				for i := range 5 {
					hold(t.Context(), r, slices.Repeat(line[i:i+1], share))()
				}
			})
		})
	}
}
