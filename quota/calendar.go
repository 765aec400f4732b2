package quota

import (
	"math"
	"time"
)

// calendar knows the windows that hold the latest instant it was told of. It never goes back: to a clock that does, the
// windows stay what they were, so that no usage is lost with a window that was left too early, and none comes back.
type calendar struct {
	now        time.Time // without monotonic reading
	start, end [Windows]int64
}

func newCalendar(now time.Time) calendar {
	c := calendar{now: now}
	c.turn()
	return c
}

// advance tells the calendar the time.
func (c *calendar) advance(now time.Time) {
	if !now.After(c.now) {
		return
	}
	turned := now.Unix() != c.now.Unix()
	c.now = now
	if turned {
		c.turn()
	}
}

func (c *calendar) turn() {
	for w := range Window(Windows) {
		start, end := w.Bounds(c.now)
		c.start[w], c.end[w] = start.Unix(), end.Unix()
	}
}

// left returns the time from now, an instant that the calendar may be ahead of, until window w ends.
func (c *calendar) left(w Window, now time.Time) time.Duration {
	return time.Unix(c.end[w], 0).Sub(now)
}

// usage is what one tenant spent in calendar windows. One instant dates all of them, because a window is over exactly
// if it does not hold the instant of the last charge.
type usage struct {
	charged int64 // Unix seconds
	units   [Windows]int64
}

// in returns what was spent in c's window w. A nil usage has spent nothing.
func (u *usage) in(w Window, c *calendar) int64 {
	if u == nil || u.charged < c.start[w] {
		return 0
	}
	return u.units[w]
}

// spent returns what was spent in each of c's windows.
func (u *usage) spent(c *calendar) Spent {
	s := Spent{At: c.now}
	for w := range Window(Windows) {
		s.Units[w] = u.in(w, c)
	}
	return s
}

// charge adds units to the windows of the set.
func (u *usage) charge(units int64, set WindowSet, c *calendar) {
	for w := range Window(Windows) {
		n := u.in(w, c)
		if set.Has(w) {
			n += min(units, math.MaxInt64-n)
		}
		u.units[w] = n
	}
	u.charged = c.now.Unix()
}

// refund takes back what charge added, from the windows that are still the ones that were charged.
func (u *usage) refund(charge *Charge, c *calendar) {
	for w := range Window(Windows) {
		if charge.Counted.Has(w) && charge.Windows[w] == c.start[w] && u.in(w, c) > 0 {
			u.units[w] -= min(int64(charge.Units), u.units[w])
		}
	}
}
