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

	"github.com/tenantgate/tenantgate/internal/sidebyside"
	"github.com/tenantgate/tenantgate/tenant"
)

// free measures operations of one caller on a pool that nobody else uses.
func free(r run, operations int) sidebyside.Cost {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &callers(1, 1)[0]
	work := func() {}
	must(0, r(ctx, c, work)) // the first has to make room
	m := begin()
	for range operations {
		must(0, r(ctx, c, work))
	}
	return m.cost(operations)
}

// crowd measures operations of many callers that never leave off: all but those that hold a slot wait. Each has a context
// of its own that may be cancelled, as every request of a server has.
func crowd(r run, goroutines, tenants, operations int) sidebyside.Cost {
	before := runtime.NumGoroutine()
	ctx, stop := context.WithCancel(context.Background())
	release := hold(ctx, r, callers(capacity, tenants)) // not of one: some rivals let none have all
	var all sync.WaitGroup
	var m meter
	done := make(chan sidebyside.Cost, 1)
	var finished atomic.Int64
	work := func() {
		runtime.Gosched()
		if finished.Add(1) == int64(operations) {
			done <- m.cost(operations) // here, because it may be long until whoever receives it runs
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
	untilAllWait()
	m = begin()
	release()
	c := <-done
	stop()
	all.Wait()
	for runtime.NumGoroutine() > before { // context.AfterFunc, and those that held the slots
		runtime.Gosched()
	}
	return c
}

// hold has all of the line hold slots at once, until release is called.
func hold(ctx context.Context, r run, line []caller) (release func()) {
	held := make(chan struct{})
	var taken sync.WaitGroup
	taken.Add(len(line))
	for i := range line {
		go func() {
			_ = r(ctx, &line[i], func() {
				taken.Done()
				<-held
			})
		}()
	}
	taken.Wait()
	return sync.OnceFunc(func() { close(held) })
}

// untilAllWait returns once no goroutine but this one runs or could. It does not count those that are blocked: that would
// include all but one of those that still queue for a rival's mutex, on their way to waiting.
func untilAllWait() {
	busy := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}}
	for {
		metrics.Read(busy)
		if busy[0].Value.Uint64() <= 1 && busy[1].Value.Uint64() == 0 {
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

// meter is what has been spent when a measurement begins.
type meter struct {
	mallocs uint64
	start   time.Time
}

func begin() meter {
	runtime.GC()
	mallocs := sidebyside.Allocated()
	return meter{mallocs: mallocs, start: time.Now()}
}

func (m meter) cost(operations int) sidebyside.Cost {
	took := time.Since(m.start)
	return sidebyside.Cost{
		Nanos:  float64(took) / float64(operations),
		Allocs: float64(sidebyside.Allocated()-m.mallocs) / float64(operations),
	}
}
