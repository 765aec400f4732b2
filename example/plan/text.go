package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
)

// lineWidth is how long lines of prose are at most.
const lineWidth = 116

// printResult writes the report for a terminal.
func printResult(out io.Writer, r *result) {
	for _, line := range r.about() {
		fmt.Fprintln(out, wrap(line, lineWidth, "  "))
	}
	for _, of := range r.cases {
		fmt.Fprintf(out, "\n== %s ==\n\n", r.title(of))
		r.policyTable(of).print(out)
		if tiers := r.tierTable(of); tiers != nil {
			fmt.Fprintln(out)
			tiers.print(out)
		}
		fmt.Fprintln(out)
		for _, v := range of.verdicts() {
			line := fmt.Sprintf("fairslots' losses against %s: %s. Gains: %s.", v.Other, v.Losses, v.Gains)
			fmt.Fprintln(out, wrap(line, lineWidth, "  "))
		}
		if of.shown {
			r.printTenants(out, of)
		}
	}
	fmt.Fprintln(out)
	for _, term := range terms {
		fmt.Fprintf(out, "%-10s  %s\n", term[0], strings.ReplaceAll(term[1], "\n", "\n"+strings.Repeat(" ", 12)))
	}
}

func (r *result) printTenants(out io.Writer, of *outcome) {
	for _, report := range of.reports {
		fmt.Fprintf(out, "\nworst tenants, %s:\n", report.Policy)
		tenantTable(report).print(out)
	}
}

// about says what was replayed, and how it differs from the trace.
func (r *result) about() []string {
	t, o := r.trace, r.opts
	lines := []string{fmt.Sprintf("%s: %d requests of %s over %s, %s of work for %d slots",
		t.name, t.requests, tenants(len(t.tenants.all)), round(t.end), round(t.work), o.capacity)}
	if t.spread {
		lines = append(lines, "All offsets are whole seconds: the requests of each second are spread evenly over it "+
			"(-spread=false: they come at once).")
	}
	return append(lines, fmt.Sprintf("Waiting: at most %d requests of a tenant and %d of all, %s.",
		o.maxQueue, o.maxWaiting, bound(o.maxWait)))
}

// title says which case it is.
func (r *result) title(of *outcome) string {
	name := ""
	if of.table.name != "" {
		name = of.table.name + ", "
	}
	return name + of.point() + ": " + of.table.text
}

// point says which load it is.
func (of *outcome) point() string {
	speed := fmt.Sprintf("speed %.4g", of.speed)
	if of.load == 0 {
		return speed
	}
	return fmt.Sprintf("offered load %.3g (%s)", of.load, speed)
}

// verdict says in words where fairslots is worse than another policy, and where better.
type verdict struct{ Other, Losses, Gains string }

func (of *outcome) verdicts() (all []verdict) {
	for i := range of.contests {
		c := &of.contests[i]
		all = append(all, verdict{c.other, cmp.Or(c.losses(), "none"), cmp.Or(c.gains(), "none")})
	}
	return all
}

func bound(d time.Duration) string {
	if d == 0 {
		return "for however long"
	}
	return "for at most " + d.String()
}

// round leaves out what is too small to matter beside the rest.
func round(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		if d >= 100*unit {
			return d.Round(unit).String()
		}
	}
	return d.String()
}

// wrap breaks text into lines of at most width, those after the first indented.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
