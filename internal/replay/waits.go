package replay

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

const (
	// exactly is how many waits are kept as they are, so that the percentiles of small tenants are exact.
	exactly = 64
	// subBits divide each power of two into 128 buckets: a bucket's upper end is less than 1 % above any value in it.
	subBits = 7
)

// waits is a distribution of waits in bounded memory.
type waits struct {
	n       int
	sum     float64
	longest int64
	few     []int64  // all of them, while they are few
	first   int      // the bucket that counts begins with
	counts  []uint32 // by bucket, once they are many
}

func (w *waits) add(wait int64) {
	w.n++
	w.sum += float64(wait)
	w.longest = max(w.longest, wait)
	if w.n <= exactly {
		w.few = append(w.few, wait)
		return
	}
	for _, wait := range w.few {
		w.count(bucketOf(wait))
	}
	w.few = nil
	w.count(bucketOf(wait))
}

func (w *waits) count(bucket int) {
	if len(w.counts) == 0 {
		w.first = bucket
	}
	if before := w.first - bucket; before > 0 {
		w.counts = slices.Concat(make([]uint32, before), w.counts)
		w.first = bucket
	}
	if after := bucket - w.first - len(w.counts) + 1; after > 0 {
		w.counts = append(w.counts, make([]uint32, after)...)
	}
	w.counts[bucket-w.first]++
}

// bucketOf numbers the buckets: one for each of the smallest values, then 1<<subBits for each power of two.
func bucketOf(v int64) int {
	shift := max(bits.Len64(uint64(v))-subBits-1, 0)
	return shift<<subBits + int(v>>shift)
}

// endOf is the largest value in a bucket.
func endOf(bucket int) int64 {
	shift := max(bucket>>subBits-1, 0)
	return int64(bucket-shift<<subBits+1)<<shift - 1
}

// describe returns what is reported of the distribution.
func (w *waits) describe() Waits {
	if w.n == 0 {
		return Waits{}
	}
	few := slices.Clone(w.few)
	slices.Sort(few)
	at := func(q float64) time.Duration { // the nearest rank
		rank := max(int(math.Ceil(q*float64(w.n))), 1)
		if len(few) > 0 {
			return time.Duration(few[rank-1])
		}
		for i, n := range w.counts {
			if rank -= int(n); rank <= 0 {
				return time.Duration(min(endOf(w.first+i), w.longest))
			}
		}
		return time.Duration(w.longest)
	}
	return Waits{
		Mean: time.Duration(w.sum / float64(w.n)), P50: at(.50), P95: at(.95), P99: at(.99), Max: time.Duration(w.longest),
	}
}
