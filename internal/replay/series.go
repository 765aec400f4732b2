package replay

import (
	"slices"
	"time"
)

// firstWidth is how wide a step of a series is at first. It doubles whenever a trace has too many of them.
const firstWidth = int64(time.Millisecond)

// cell is what a tenant did in one step.
type cell struct {
	step    int
	busy    int64
	longest int64
}

// track is a tenant over time: the steps in which it did anything, in order.
type track []cell

// at returns the cell of a step.
func (t *track) at(step int) *cell {
	i := len(*t)
	for i > 0 && (*t)[i-1].step > step {
		i--
	}
	if i > 0 && (*t)[i-1].step == step {
		return &(*t)[i-1]
	}
	*t = slices.Insert(*t, i, cell{step: step})
	return &(*t)[i]
}

// add notes a request that came, started after wait, and ended.
func (t *track) add(came, wait, end, width int64) {
	c := t.at(int(came / width))
	c.longest = max(c.longest, wait)
	for from := came + wait; from < end; {
		step := from / width
		until := min(end, (step+1)*width)
		t.at(int(step)).busy += until - from
		from = until
	}
}

// halve makes the steps twice as wide.
func (t *track) halve() {
	kept := (*t)[:0]
	for _, c := range *t {
		c.step /= 2
		if n := len(kept); n > 0 && kept[n-1].step == c.step {
			kept[n-1].busy += c.busy
			kept[n-1].longest = max(kept[n-1].longest, c.longest)
		} else {
			kept = append(kept, c)
		}
	}
	*t = kept
}

// spread adds t to what is reported of a tenant.
func (t *track) spread(to *Track) {
	for _, c := range *t {
		to.Busy[c.step] += time.Duration(c.busy)
		to.LongestWait[c.step] = max(to.LongestWait[c.step], time.Duration(c.longest))
	}
}

// series returns the busiest tenants over time.
func (r *Run) series() Series {
	s := Series{Width: time.Duration(r.width)}
	steps := int(r.now/r.width) + 1
	for i, t := range busiestFirst(r.tenants) {
		if i <= tracks {
			s.Tenants = append(s.Tenants, Track{
				Tenant: t.name, Busy: make([]time.Duration, steps), LongestWait: make([]time.Duration, steps),
			})
		}
		t.track.spread(&s.Tenants[min(i, tracks)])
	}
	if len(s.Tenants) > tracks {
		s.Tenants[tracks].Tenant = ""
	}
	return s
}
