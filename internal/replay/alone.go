package replay

import "slices"

// alone is a tenant that has the service to itself. Its requests are served first come first served on as many slots as
// it may hold, so what becomes of one is known when it comes.
type alone struct {
	ends   []int64 // of the requests that run or wait, in order
	starts []int64 // of the requests that wait, in order
}

// arrive returns how long a request waits that comes now, holds its slot for as long as held, and may use one of limit
// slots. ok is false where it is turned away.
func (a *alone) arrive(now, held int64, limit, maxQueue int, maxWait int64) (wait int64, ok bool) {
	a.ends = passed(a.ends, now)
	a.starts = passed(a.starts, now)
	start := now
	if over := len(a.ends) - limit; over >= 0 {
		start = a.ends[over] // then fewer than limit are left
		if len(a.starts) >= maxQueue || maxWait > 0 && start-now > maxWait {
			return 0, false
		}
		a.starts = append(a.starts, start)
	}
	i, _ := slices.BinarySearch(a.ends, start+held)
	a.ends = slices.Insert(a.ends, i, start+held)
	return start - now, true
}

// passed drops the times up to now from the front of times, which are in order.
func passed(times []int64, now int64) []int64 {
	n, _ := slices.BinarySearch(times, now+1)
	return slices.Delete(times, 0, n)
}
