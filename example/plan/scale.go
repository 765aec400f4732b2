package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// tick is a mark on an axis, at a pixel.
type tick struct {
	At    float64
	Label string
}

// axis maps values to pixels.
type axis struct {
	// from and to are the pixels of the ends.
	from, to float64
	// least and most are the values there, on a logarithmic axis their logarithms.
	least, most float64
	// log is for waits: powers of ten, and below the lowest of them 0.
	log   bool
	Ticks []tick
}

func (a *axis) at(v float64) float64 {
	if a.log {
		if v <= 0 {
			return a.from
		}
		v = max(math.Log10(v), a.least)
	}
	return a.from + (v-a.least)/(a.most-a.least)*(a.to-a.from)
}

// linearAxis goes from 0 to most, with a few round numbers on the way.
func linearAxis(from, to, most float64, label func(float64) string) *axis {
	a := &axis{from: from, to: to, most: most}
	step := roundStep(most / 5)
	for i := 0; float64(i)*step <= most*(1+1e-9); i++ {
		v := float64(i) * step
		a.Ticks = append(a.Ticks, tick{a.at(v), label(v)})
	}
	return a
}

// roundStep returns 1, 2 or 5 times a power of ten, the first that is at least step.
func roundStep(step float64) float64 {
	if step <= 0 {
		return 1
	}
	unit := math.Pow10(int(math.Floor(math.Log10(step))))
	for _, of := range []float64{1, 2, 5} {
		if step <= of*unit*(1+1e-9) {
			return of * unit
		}
	}
	return 10 * unit
}

// decades is how many powers of ten a logarithmic axis shows at most.
const decades = 4

// extent is what an axis for waits must show: the shortest of those above 0, the longest, and whether there are zeros.
type extent struct {
	least, most time.Duration
	zero        bool
}

func (e *extent) add(wait time.Duration) {
	e.most = max(e.most, wait)
	if wait == 0 {
		e.zero = true
	} else if e.least == 0 || wait < e.least {
		e.least = wait
	}
}

// axis returns a logarithmic one, in seconds. Where there are waits below its lowest power of ten, it begins with 0.
func (e extent) axis(from, to float64) *axis {
	high := math.Ceil(math.Log10(e.most.Seconds()) - 1e-9)
	low := math.Floor(math.Log10(e.least.Seconds()))
	a := &axis{from: from, to: to, most: high, log: true}
	if e.zero || low < high-decades {
		low = max(low, high-decades)
		a.least = low - 1
		a.Ticks = []tick{{from, "0"}}
	} else {
		low = min(low, high-1)
		a.least = low
	}
	for p := low; p <= high; p++ {
		v := math.Pow10(int(p))
		a.Ticks = append(a.Ticks, tick{a.at(v), decade(v)})
	}
	return a
}

// decade spells a power of ten, in seconds.
func decade(seconds float64) string {
	for _, u := range []struct {
		unit float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "\u00b5s"}} {
		if n := seconds / u.unit; n > 0.5 {
			return fmt.Sprintf("%.0f %s", n, u.name)
		}
	}
	return fmt.Sprintf("%.0f ns", seconds/1e-9)
}

// timeAxis is a linear one for times, and says what its ticks are counted in.
func timeAxis(from, to float64, most time.Duration) (a *axis, unit string) {
	units := []struct {
		name string
		of   time.Duration
	}{
		{"days", 24 * time.Hour}, {"hours", time.Hour}, {"minutes", time.Minute}, {"seconds", time.Second},
		{"ms", time.Millisecond},
	}
	chosen := units[len(units)-1]
	for _, u := range units {
		if most >= 3*u.of {
			chosen = u
			break
		}
	}
	a = linearAxis(from, to, max(float64(most)/float64(chosen.of), 1e-6), plain)
	a.most *= float64(chosen.of) // from here on values are times
	return a, chosen.name
}

func plain(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
