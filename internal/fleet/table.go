package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// row is a line of the table: a name, and its value for each phase.
type row struct {
	name string
	of   func(*result) any
}

// printTable prints what came of the phases, side by side.
func printTable(out io.Writer, phases ...*result) {
	rows := []row{
		{"tenants", func(r *result) any { return r.tenants }},
		{"requests", func(r *result) any { return r.requests }},
		{"served", func(r *result) any { return r.served }},
	}
	reasons := map[tenant.Reason]bool{}
	for _, r := range phases {
		for reason := range r.refused {
			reasons[reason] = true
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		rows = append(rows, row{"refused: " + string(reason), func(r *result) any { return r.refused[reason] }})
	}
	rows = append(rows,
		row{"no answer: the replica died", func(r *result) any { return r.failed }},
		row{"decided without Redis", func(r *result) any { return r.stats.Alone }},
		row{"Redis away, s", func(r *result) any { return fmt.Sprintf("%.2f", r.outage.length().Seconds()) }},
		row{"units served, by the logs", func(r *result) any { return r.units }},
		row{"units used, by Redis", func(r *result) any { return r.used }},
		row{"difference", func(r *result) any { return int(r.used) - r.units }},
		row{"at most, of what is in doubt", func(r *result) any { return r.doubt.all() }},
		row{"decisions in doubt", func(r *result) any { return r.stats.InDoubt }},
		row{"units of failed refunds", func(r *result) any { return r.doubt.refunds }},
		row{"units over daily quotas, reported", func(r *result) any { return r.stats.Overrun }},
		row{"units above burst + rate x time, at most", func(r *result) any { return fmt.Sprintf("%.2f", r.plainExcess) }},
		row{"and above that and the replicas' own parts", func(r *result) any { return fmt.Sprintf("%.2f", r.excess) }},
		row{"the same of the cluster's bucket", func(r *result) any { return fmt.Sprintf("%.2f", r.clusterExcess) }},
	)
	fmt.Fprint(out, "| |")
	for _, r := range phases {
		fmt.Fprintf(out, " %s |", r.name)
	}
	fmt.Fprintf(out, "\n| --- |%s\n", strings.Repeat(" ---: |", len(phases)))
	for _, line := range rows {
		fmt.Fprintf(out, "| %s |", line.name)
		for _, r := range phases {
			fmt.Fprintf(out, " %v |", line.of(r))
		}
		fmt.Fprintln(out)
	}
}

func (s span) length() time.Duration { return time.Duration(s.to-s.from) * time.Microsecond }
