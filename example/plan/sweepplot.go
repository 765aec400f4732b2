package main

import (
	"fmt"
	"math"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
)

// measure is a figure of each policy in each case.
type measure struct {
	title, axis string
	of          func(of *outcome, policy int) float64
	spell       func(float64) string
}

func spellSeconds(s float64) string {
	return spell(time.Duration(math.Round(s * float64(time.Second))))
}

// waitMeasures and refusals are what is plotted against the load.
var (
	waitMeasures = []measure{{
		"Wait of the worst tenant", "p99 wait of the worst tenant (logarithmic)",
		func(of *outcome, policy int) float64 { return worstP99(of.reports[policy]).Seconds() }, spellSeconds,
	}, {
		"Wait of the tenant in the middle", "p99 wait of the median tenant (logarithmic)",
		func(of *outcome, policy int) float64 { return of.middle[policy].Seconds() }, spellSeconds,
	}}
	refusalMeasure = measure{
		"Refusals", "part of the requests that were refused",
		func(of *outcome, policy int) float64 { return refusedPart(of.reports[policy]) }, percent,
	}
)

// sweepPlots have the offered load on one axis and a line for each policy. A single load has none, nor has a figure that
// is 0 everywhere.
func (r *result) sweepPlots(cases []*outcome) (plots []plot) {
	if len(cases) < 2 {
		return nil
	}
	for _, m := range waitMeasures {
		var e extent
		r.each(m, func(v float64) { e.add(time.Duration(v * float64(time.Second))) })
		if e.most > 0 {
			plots = append(plots, r.sweepPlot(cases, m, e.axis(plotHeight-marginBottom, marginTop)))
		}
	}
	var most float64
	r.each(refusalMeasure, func(v float64) { most = max(most, v) })
	if most > 0 {
		y := linearAxis(plotHeight-marginBottom, marginTop, most, func(v float64) string { return plain(100*v) + " %" })
		plots = append(plots, r.sweepPlot(cases, refusalMeasure, y))
	}
	return plots
}

// each calls do with m in all cases: all tables are drawn to the same scale.
func (r *result) each(m measure, do func(float64)) {
	for _, of := range r.cases {
		for i := range of.reports {
			do(m.of(of, i))
		}
	}
}

func (r *result) sweepPlot(cases []*outcome, m measure, y *axis) plot {
	right := plotWidth - labelWidth
	p := plot{
		Title: m.title, XTitle: "offered load (1: as much work as the slots can do)", YTitle: m.axis,
		X: linearAxis(marginLeft, right, cases[len(cases)-1].load, plain), Y: y, Right: right, Figures: r.byLoad(cases, m),
	}
	if full := p.X.at(1); full <= right {
		var line path
		line.move(full, marginTop)
		line.up(plotHeight - marginBottom)
		p.Shapes = append(p.Shapes, shape{"limit", line.String()})
	}
	for i, policy := range r.opts.policies {
		var line, marks path
		end := label{Class: policyClass(policy), Text: policy.String(), X: right + 12}
		for n, of := range cases {
			x, y := p.X.at(of.load), y.at(m.of(of, i))
			if n == 0 {
				line.move(x, y)
			} else {
				line.line(x, y)
			}
			marks.mark(int(policy), x, y)
			end.Y = y + 5
		}
		p.Labels = append(p.Labels, end)
		p.Shapes = append(p.Shapes, shape{"line " + end.Class, line.String()}, shape{"mark " + end.Class, marks.String()})
	}
	apart(p.Labels, marginTop+5, plotHeight-marginBottom)
	return p
}

// byLoad has a row for each policy, a column for each load.
func (r *result) byLoad(cases []*outcome, m measure) *table {
	t := &table{names: 1, head: []string{"load"}}
	for _, of := range cases {
		t.head = append(t.head, plain(of.load))
	}
	for i, policy := range r.opts.policies {
		row := []string{policy.String()}
		for _, of := range cases {
			row = append(row, m.spell(m.of(of, i)))
		}
		t.add(row...)
	}
	return t
}

func policyClass(p replay.Policy) string { return fmt.Sprintf("p%d", int(p)) }

func refusedPart(r *replay.Report) float64 {
	if r.All.Requests == 0 {
		return 0
	}
	return float64(r.All.Turned()) / float64(r.All.Requests)
}
