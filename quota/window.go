package quota

import (
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Window is a kind of calendar window. Windows are those of UTC: a day begins at midnight UTC.
type Window int

// The windows, shortest first.
const (
	Second Window = iota
	Minute
	Hour
	Day
	Month

	Windows = 5 // how many there are
)

// String returns the window's name as a policy: "second", "minute", "hour", "day" or "month".
func (w Window) String() string {
	return [Windows]string{"second", "minute", "hour", "day", "month"}[w]
}

// Limit returns the quota that q sets on the window. 0: none.
func (w Window) Limit(q tenant.Quotas) int64 { return w.limit(&q) }

func (w Window) limit(q *tenant.Quotas) int64 {
	switch w {
	case Second:
		return q.Second
	case Minute:
		return q.Minute
	case Hour:
		return q.Hour
	case Day:
		return q.Day
	default:
		return q.Month
	}
}

// Bounds returns the window that holds t: its first instant, and the first of the next one.
func (w Window) Bounds(t time.Time) (start, end time.Time) {
	t = t.UTC()
	if w == Month {
		start = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
		return start, start.AddDate(0, 1, 0)
	}
	length := [...]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}[w]
	start = t.Truncate(length)
	return start, start.Add(length)
}

// WindowSet is a set of windows.
type WindowSet uint8

// Has reports whether w is in the set.
func (s WindowSet) Has(w Window) bool { return s&(1<<w) != 0 }

// limited returns the windows that q limits.
func limited(q *tenant.Quotas) WindowSet {
	var s WindowSet
	if *q == (tenant.Quotas{}) {
		return s
	}
	for w := range Window(Windows) {
		if w.limit(q) > 0 {
			s |= 1 << w
		}
	}
	return s
}
