package main

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// turn is how long each is measured at a time, and batch how many operations go by between two looks at the clock.
const (
	turn  = 40 * time.Millisecond
	batch = 50
)

// cost is what an operation takes.
type cost struct{ nanos, allocs float64 }

// measure has so many goroutines do nothing but what operation returns to each of them.
func measure(goroutines int, operation func() func()) cost {
	each := make([]func(), goroutines)
	for i := range each {
		each[i] = operation()
		each[i]() // the first may have to make room, and to remember
	}
	runtime.GC()
	mallocs, start := allocated(), time.Now()
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
	return cost{nanos: float64(took) / n, allocs: float64(allocated()-mallocs) / n}
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}

// row is what an operation took, round by round.
type row []cost

func (r row) nanos() []float64 {
	all := make([]float64, len(r))
	for i, c := range r {
		all[i] = c.nanos
	}
	return all
}

func (r row) allocs() []float64 {
	all := make([]float64, len(r))
	for i, c := range r {
		all[i] = c.allocs
	}
	return all
}

// to returns what r takes where other takes 1: the median of what it is in each round. The ratio of two medians could be
// that of two rounds, between which the machine may have changed.
func (r row) to(other row) float64 {
	each := make([]float64, len(r))
	for i := range r {
		each[i] = r[i].nanos / other[i].nanos
	}
	return median(each)
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
