package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/tenantgate/tenantgate/quota"
)

// bound is the most that a bucket may let through: over any interval its burst, and its rate times the interval.
//
// While Redis is away each replica has a bucket of its own, full at first, for its part of the rate. Redis's bucket is not
// asked then, but regains all the same. So an interval that touches the outage may have the bursts of the replicas'
// buckets besides, and their rates, which together are the rate again, times what it has of the outage.
//
// A refund of what was charged before an interval lets so much more through in it.
type bound struct {
	quota.Rate
	ownBurst int // of all replicas together; their rates together are Rate
	outage   span
}

// span is an interval in Unix microseconds. The zero span is none.
type span struct{ from, to int64 }

func (s span) overlap(from, to int64) (microseconds int64, touches bool) {
	if s == (span{}) || to < s.from || s.to < from {
		return 0, false
	}
	return min(to, s.to) - max(from, s.from), true
}

// boundOf returns the bound of a bucket with this rate. outage is zero where there was none.
func boundOf(rate quota.Rate, outage span) bound {
	return bound{rate, replicas * max(rate.Burst/replicas, largestCost(rate.Burst)), outage}
}

// excess returns by how many units the requests in a log exceed the bound in the interval where they do so most; it is
// negative where they stay below it in all.
//
// When a request was judged is not known, only that it was between From and To. So an interval is charged with what was
// certainly judged in it: the served requests that came and went within. It is credited with what may have been refunded
// in it and charged before: the refunded requests that were under way when it began. So whatever is found to exceed the
// bound did, and what exceeds it by more than the rate times the time that a request takes, and such a credit, is found.
// All products are of whole numbers, in millionths of a unit: nothing is rounded.
func (b bound) excess(log []entry) float64 {
	var served, refunded []entry
	for _, e := range log {
		switch {
		case e.served():
			served = append(served, e)
		case e.refunded():
			refunded = append(refunded, e)
		}
	}
	slices.SortFunc(served, func(x, y entry) int { return cmp.Compare(x.To, y.To) })
	most := math.Inf(-1)
	for _, first := range served {
		credit := 0
		for _, e := range refunded {
			if e.From < first.From && first.From <= e.To {
				credit += e.Cost
			}
		}
		most = max(most, b.excessFrom(first.From, served, credit))
	}
	return most / 1e6
}

// excessFrom is excess, in millionths, for the intervals that begin at from.
func (b bound) excessFrom(from int64, served []entry, credit int) float64 {
	most, units := math.Inf(-1), 0
	for _, e := range served {
		if e.From < from {
			continue
		}
		units += e.Cost
		allowed, time := b.Burst+credit, e.To-from
		if away, touches := b.outage.overlap(from, e.To); touches {
			allowed += b.ownBurst
			time += away
		}
		most = max(most, float64(units-allowed)*1e6-b.PerSecond*float64(time))
	}
	return most
}
