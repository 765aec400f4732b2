package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
)

// colours is how many tenants have one of their own; all others together have another.
const colours = 8

// cast are the tenants that the plots over time tell apart, the same ones in those of every policy of a case.
type cast struct{ names []string }

// newCast takes the tenants with the most slot time under the last policy.
func newCast(of *outcome) cast {
	var c cast
	for _, track := range of.reports[len(of.reports)-1].Series.Tenants {
		if track.Tenant != "" && len(c.names) < colours {
			c.names = append(c.names, track.Tenant)
		}
	}
	return c
}

// others is the number of the tracks of those that have no colour of their own.
func (c cast) others() int { return len(c.names) }

// number of a track's tenant.
func (c cast) number(track *replay.Track) int {
	if i := slices.Index(c.names, track.Tenant); i >= 0 {
		return i
	}
	return c.others()
}

func (c cast) class(i int) string {
	if i == c.others() {
		return "others"
	}
	return fmt.Sprintf("t%d", i)
}

// legend has those who are in any of the plots.
func (c cast) legend(of *outcome) (keys []label) {
	for i, name := range c.names {
		keys = append(keys, label{Class: c.class(i), Text: name})
	}
	for _, report := range of.reports {
		for i := range report.Series.Tenants {
			if c.number(&report.Series.Tenants[i]) == c.others() {
				return append(keys, label{Class: "others", Text: "all others"})
			}
		}
	}
	return keys
}

// waitPlots have a dot for each tenant and step in which it waited, one plot for each policy.
func (c cast) waitPlots(of *outcome) []plot {
	e := longestWaits(of)
	if e.most == 0 {
		return nil
	}
	plots := make([]plot, len(of.reports))
	for n, report := range of.reports {
		p := overTime(of, "Waits: "+report.Policy, "longest wait of those who came (logarithmic)")
		p.Y = e.axis(plotHeight-marginBottom, marginTop)
		dots := make([]path, len(c.names)+1)
		for i := range report.Series.Tenants {
			track := &report.Series.Tenants[i]
			for step, wait := range track.LongestWait {
				if wait > 0 {
					x := p.X.at((float64(step) + 0.5) * float64(report.Series.Width))
					dot := &dots[c.number(track)]
					dot.move(min(x, p.Right), p.Y.at(wait.Seconds()))
					dot.WriteString("h0")
				}
			}
		}
		for i := range slices.Backward(dots) { // the others behind those with a colour
			if dots[i].Len() > 0 {
				p.Shapes = append(p.Shapes, shape{"dots " + c.class(i), dots[i].String()})
			}
		}
		plots[n] = p
	}
	return plots
}

// busyPlots have the slots in use, by tenant one on top of the other, one plot for each policy.
func (c cast) busyPlots(of *outcome) []plot {
	if !slices.ContainsFunc(of.reports, func(r *replay.Report) bool { return r.Busy > 0 }) {
		return nil
	}
	plots := make([]plot, len(of.reports))
	for n, report := range of.reports {
		p := overTime(of, "Slots in use: "+report.Policy, "slots in use")
		capacity := float64(report.Capacity)
		p.Y = linearAxis(plotHeight-marginBottom, marginTop, capacity*1.15, plain)
		var below []float64
		for i, used := range c.inUse(report) {
			if below == nil {
				below = make([]float64, len(used))
			}
			if area := p.stack(below, used, report.Series.Width); area != "" {
				p.Shapes = append(p.Shapes, shape{"area " + c.class(i), area})
			}
		}
		var full path
		full.move(marginLeft, p.Y.at(capacity))
		full.across(p.Right)
		p.Shapes = append(p.Shapes, shape{"limit", full.String()})
		p.Labels = []label{{
			Class: "limit", Text: fmt.Sprintf("capacity %d", report.Capacity), X: marginLeft + 6, Y: p.Y.at(capacity) - 5,
		}}
		plots[n] = p
	}
	return plots
}

// inUse are the mean slots in use by step, for each of the cast and for the others.
func (c cast) inUse(report *replay.Report) [][]float64 {
	all := make([][]float64, len(c.names)+1)
	for i := range report.Series.Tenants {
		track := &report.Series.Tenants[i]
		of := &all[c.number(track)]
		if *of == nil {
			*of = make([]float64, len(track.Busy))
		}
		for step, busy := range track.Busy {
			(*of)[step] += float64(busy) / float64(report.Series.Width)
		}
	}
	return slices.DeleteFunc(all, func(used []float64) bool { return used == nil })
}

// stack returns the area of used on top of below, and adds it to below.
func (p *plot) stack(below, used []float64, width time.Duration) string {
	var area path
	edge := func(step int) float64 { return min(p.X.at(float64(step)*float64(width)), p.Right) }
	for from := 0; from < len(used); {
		if used[from] == 0 {
			from++
			continue
		}
		to := from
		area.move(edge(from), p.Y.at(below[from]))
		for ; to < len(used) && used[to] > 0; to++ {
			area.up(p.Y.at(below[to] + used[to]))
			area.across(edge(to + 1))
		}
		for step := to - 1; step >= from; step-- {
			area.up(p.Y.at(below[step]))
			area.across(edge(step))
			below[step] += used[step]
		}
		area.WriteString("z")
		from = to
	}
	return area.String()
}

// overTime is a plot without anything in it, with the same time axis for all policies of a case.
func overTime(of *outcome, title, y string) plot {
	var span time.Duration
	for _, report := range of.reports {
		span = max(span, report.Span)
	}
	p := plot{Title: title, YTitle: y, Right: plotWidth - marginRight}
	var unit string
	p.X, unit = timeAxis(marginLeft, p.Right, span)
	p.XTitle = "time in the replay (" + unit + ")"
	return p
}

// longestWaits leaves zeros out: they have no dots.
func longestWaits(of *outcome) (e extent) {
	for _, report := range of.reports {
		for _, track := range report.Series.Tenants {
			for _, wait := range track.LongestWait {
				if wait > 0 {
					e.add(wait)
				}
			}
		}
	}
	return e
}
