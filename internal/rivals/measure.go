package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// cost is what an operation takes: a slot, work that does nothing or lets the others run once, and the slot back.
type cost struct{ nanos, allocs float64 }

// free measures operations of one caller on a pool that nobody else uses.
func free(r run, operations int) cost {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &callers(1, 1)[0]
	work := func() {}
	must(0, r(ctx, c, work)) // the first has to make room
	return timed(operations, func() {
		for range operations {
			must(0, r(ctx, c, work))
		}
	})
}

// crowd measures operations of many callers that never leave off: all but those that hold a slot wait. Each has a context
// of its own that may be cancelled, as every request of a server has.
func crowd(r run, goroutines, tenants, operations int) cost {
	ctx, stop := context.WithCancel(context.Background())
	release := fill(ctx, r, tenants)
	var all sync.WaitGroup
	done := make(chan struct{})
	var finished atomic.Int64
	work := func() {
		runtime.Gosched()
		if finished.Add(1) == int64(operations) {
			close(done)
		}
	}
	var entered atomic.Int64
	line := callers(goroutines, tenants)
	gates := make([]chan struct{}, goroutines)
	for i := range line {
		gates[i] = make(chan struct{})
		all.Go(func() {
			own, cancel := context.WithCancel(ctx)
			defer cancel()
			<-gates[i]
			entered.Add(1)
			for own.Err() == nil && r(own, &line[i], work) == nil {
			}
		})
	}
	// They come in an order of their own, not in the one in which they lie in memory: whoever serves them first come
	// first served would else walk through the memory step by step, as no server's requests let it.
	for n, i := range rand.New(rand.NewPCG(1, 2)).Perm(goroutines) {
		close(gates[i])
		for entered.Load() <= int64(n) {
			runtime.Gosched()
		}
	}
	untilWaiting(goroutines)
	c := timed(operations, func() {
		release()
		<-done
	})
	stop()
	all.Wait()
	return c
}

// fill takes all slots until release is called.
func fill(ctx context.Context, r run, tenants int) (release func()) {
	held := make(chan struct{})
	var taken sync.WaitGroup
	taken.Add(capacity)
	lane := callers(capacity, tenants) // not of one, for some rivals let none hold all slots
	for i := range lane {
		go func() {
			_ = r(ctx, &lane[i], func() {
				taken.Done()
				<-held
			})
		}()
	}
	taken.Wait()
	return sync.OnceFunc(func() { close(held) })
}

// untilWaiting returns once so many goroutines are blocked.
func untilWaiting(goroutines int) {
	sample := []metrics.Sample{{Name: "/sched/goroutines/waiting:goroutines"}}
	for {
		metrics.Read(sample)
		if sample[0].Value.Uint64() >= uint64(goroutines) {
			return
		}
		runtime.Gosched()
	}
}

// callers are so many callers of so many tenants.
func callers(n, tenants int) []caller {
	line := make([]caller, n)
	for i := range line {
		number := i % tenants
		line[i] = caller{tenant: tenant.Tenant{ID: fmt.Sprint("t", number)}, number: number}
	}
	return line
}

func timed(operations int, f func()) cost {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return cost{
		nanos:  float64(took) / float64(operations),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(operations),
	}
}
