package replay

import (
	"slices"

	"github.com/tenantgate/tenantgate/internal/slots"
)

// alone is a tenant that has the service to itself. Its requests are served first come first served on as many slots as
// it may hold, so what becomes of one is known when it comes. A pool that predicts waits does so of these too.
type alone struct {
	ends   []end   // of the requests that run or will, in order
	leaves []int64 // when each that waits will start, or give up; in order

	// The pool's knowledge of holding times, of the tenant and of all: it forgets a tenant that is idle for long enough.
	own, all slots.Average
	idle     int64
}

// end is when a request ends, and how long it held its slot.
type end struct{ at, held int64 }

// bounds are those of a pool for one tenant.
type bounds struct {
	slots, queue int
	wait         int64 // 0: unbounded
	predicts     bool
}

// arrive returns how long a request waits that comes now and holds its slot for as long as held. ok is false where it is
// turned away, at once or later.
func (a *alone) arrive(now, held int64, b bounds) (wait int64, ok bool) {
	a.advance(now)
	start := now
	if over := len(a.ends) - b.slots; over >= 0 {
		start = a.ends[over].at // then fewer than there are slots are left
		if len(a.leaves) >= b.queue || b.predicts && a.tooLong(b) {
			return 0, false
		}
		if b.wait > 0 && start-now > b.wait {
			a.leaves = append(a.leaves, now+b.wait)
			return 0, false
		}
		a.leaves = append(a.leaves, start)
	}
	i, _ := slices.BinarySearchFunc(a.ends, start+held, func(e end, at int64) int {
		if e.at <= at { // of those that end at one instant the first to start comes first
			return -1
		}
		return 1
	})
	a.ends = slices.Insert(a.ends, i, end{start + held, held})
	return start - now, true
}

// advance lets pass what has happened by now.
func (a *alone) advance(now int64) {
	n := 0
	for ; n < len(a.ends) && a.ends[n].at <= now; n++ {
		a.own.Add(float64(a.ends[n].held), slots.TenantWeight)
		a.all.Add(float64(a.ends[n].held), slots.PoolWeight)
		a.idle = a.ends[n].at
	}
	a.ends = slices.Delete(a.ends, 0, n)
	if len(a.ends) == 0 && now-a.idle >= slots.ForgetAfter {
		a.own = slots.Average{}
	}
	left, _ := slices.BinarySearch(a.leaves, now+1)
	a.leaves = slices.Delete(a.leaves, 0, left)
}

func (a *alone) tooLong(b bounds) bool {
	average := &a.own
	if *average == (slots.Average{}) {
		average = &a.all
	}
	return b.wait > 0 && average.Outlasts(len(a.leaves), float64(b.slots), float64(b.wait))
}
