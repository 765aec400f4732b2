package replay

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestWaits_PercentilesAreWithinOnePercent(t *testing.T) {
	for _, n := range []int{1, 2, exactly, exactly + 1, 1000, 50_000} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		var w waits
		var all []int64
		for range n {
			v := int64(math.Exp(rng.Float64()*25)) - 1 // 0 to 20 h
			w.add(v)
			all = append(all, v)
		}
		slices.Sort(all)
		got := w.describe()
		for q, have := range map[float64]time.Duration{.5: got.P50, .95: got.P95, .99: got.P99, 1: got.Max} {
			exact := float64(all[int(math.Ceil(q*float64(n)))-1])
			if h := float64(have); h < exact || h > exact*1.01 || n <= exactly && h != exact {
				t.Errorf("%d waits: the %v quantile is %v, want %v", n, q, have, time.Duration(exact))
			}
		}
	}
}

func TestBuckets_EndWhereTheNextBegins(t *testing.T) {
	for bucket := range bucketOf(math.MaxInt64) {
		end := endOf(bucket)
		if bucketOf(end) != bucket || bucketOf(end+1) != bucket+1 {
			t.Fatalf("bucket %d ends with %d, which is in bucket %d, and the next value in %d", bucket, end, bucketOf(end), bucketOf(end+1))
		}
	}
}
