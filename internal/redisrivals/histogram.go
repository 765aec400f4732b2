package main

import (
	"math/bits"
	"time"
)

// histogram counts durations, each to within 1/32 of its length. Recording one neither locks nor allocates.
type histogram [64 * steps]uint32

// steps is into how many each doubling is divided.
const steps = 32

func (h *histogram) record(d time.Duration) {
	h[bucketOf(uint64(max(d, 0)))]++
}

// bucketOf returns where d belongs: below steps nanoseconds each has a bucket.
func bucketOf(d uint64) int {
	if d < steps {
		return int(d)
	}
	shift := bits.Len64(d) - bits.Len64(steps)
	return shift*steps + int(d>>shift)
}

// least returns the shortest duration of a bucket.
func least(bucket int) time.Duration {
	if bucket < steps {
		return time.Duration(bucket)
	}
	shift := bucket/steps - 1
	return time.Duration(bucket-shift*steps) << shift
}

func (h *histogram) add(other *histogram) {
	for i, n := range other {
		h[i] += n
	}
}

func (h *histogram) count() (n uint64) {
	for _, c := range h {
		n += uint64(c)
	}
	return n
}

// quantile returns the duration that the fraction q of all does not exceed, but for the histogram's width.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.count()))
	for i, c := range h {
		if uint64(c) > rank {
			return least(i)
		}
		rank -= uint64(c)
	}
	return 0
}
