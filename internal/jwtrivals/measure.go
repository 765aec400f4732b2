package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/internal/sidebyside"
)

// turn is how long each is measured at a time, and batch how many operations go by between two looks at the clock.
const (
	turn  = 40 * time.Millisecond
	batch = 50
)

// measure has so many goroutines do nothing but what operation returns to each of them.
func measure(goroutines int, operation func() func()) sidebyside.Cost {
	each := make([]func(), goroutines)
	for i := range each {
		each[i] = operation()
		each[i]() // the first may have to make room, and to remember
	}
	runtime.GC()
	mallocs, start := sidebyside.Allocated(), time.Now()
	var done atomic.Int64
	var all sync.WaitGroup
	for _, do := range each {
		all.Go(func() {
			n := 0
			for ; time.Since(start) < turn; n += batch {
				for range batch {
					do()
				}
			}
			done.Add(int64(n))
		})
	}
	all.Wait()
	took, n := time.Since(start), float64(done.Load())
	return sidebyside.Cost{Nanos: float64(took) / n, Allocs: float64(sidebyside.Allocated()-mallocs) / n}
}
