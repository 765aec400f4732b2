// Package sidebyside is what the programs that measure tenantgate beside its rivals have in common. They measure all in
// turns, in several rounds, because the machine changes: what is worth telling is how the costs within one round compare.
package sidebyside

import (
	"runtime"
	"slices"
)

// Cost is what an operation takes.
type Cost struct{ Nanos, Allocs float64 }

// Row is what an operation took, round by round.
type Row []Cost

// Nanos are the times alone.
func (r Row) Nanos() []float64 {
	all := make([]float64, len(r))
	for i, c := range r {
		all[i] = c.Nanos
	}
	return all
}

// Allocs are the allocations alone.
func (r Row) Allocs() []float64 {
	all := make([]float64, len(r))
	for i, c := range r {
		all[i] = c.Allocs
	}
	return all
}

// To returns what r takes where other takes 1: the median of what it is in each round. The ratio of two medians could be
// that of two rounds, and the machine may have changed between them: when another program takes one of two processors,
// goroutines wake each other in half the time, which is most of an operation for some rivals and less of it for others.
func (r Row) To(other Row) float64 {
	each := make([]float64, len(r))
	for i := range r {
		each[i] = r[i].Nanos / other[i].Nanos
	}
	return Median(each)
}

// Median returns the middle of at least one number, and of an even count that of the two in the middle.
func Median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Allocated is how many objects were allocated since the program began.
func Allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}
