package main

import (
	"slices"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
)

// reasonsSeen are the indices of the reasons for which anything was refused, so that tables have no columns of zeros.
func (r *result) reasonsSeen() (seen []int) {
	for i := range replay.Reasons() {
		if r.any(func(g *replay.Group) bool { return g.Refused[i] > 0 }) {
			seen = append(seen, i)
		}
	}
	return seen
}

func (r *result) any(is func(*replay.Group) bool) bool {
	for _, of := range r.cases {
		for _, report := range of.reports {
			if is(&report.All) {
				return true
			}
		}
	}
	return false
}

// refusals are the cells of what was refused, in all and by the reasons seen, and how many of them the others cost.
func refusals(g *replay.Group, seen []int) []string {
	cells := []string{count(g.Turned())}
	for _, i := range seen {
		cells = append(cells, count(g.Refused[i]))
	}
	return append(cells, count(g.Lost))
}

func refusalHead(seen []int) []string {
	head := []string{"refused"}
	for _, i := range seen {
		head = append(head, string(replay.Reasons()[i]))
	}
	return append(head, "lost")
}

func waits(w replay.Waits) []string {
	return []string{spell(w.P50), spell(w.P95), spell(w.P99), spell(w.Max)}
}

var waitHead = []string{"p50", "p95", "p99", "max"}

// policyTable has a row for each policy of one case.
func (r *result) policyTable(of *outcome) *table {
	seen := r.reasonsSeen()
	t := &table{names: 1, head: slices.Concat(
		[]string{"policy", "use", "served"}, refusalHead(seen), waitHead, []string{"worst", "middle", "idle", "suffered"})}
	for i, report := range of.reports {
		all := &report.All
		t.add(slices.Concat(
			[]string{report.Policy, percent(report.Utilisation()), count(all.Served)}, refusals(all, seen), waits(all.Wait),
			[]string{spell(worstP99(report)), spell(of.middle[i]), spell(report.IdleWhileWaiting), spell(all.Suffered)})...)
	}
	return t
}

// tierTable has a row for each policy and tier of one case, nil where there is only one tier.
func (r *result) tierTable(of *outcome) *table {
	seen := r.reasonsSeen()
	t := &table{names: 2, head: slices.Concat(
		[]string{"tier", "policy", "tenants", "use", "served"}, refusalHead(seen), waitHead, []string{"suffered"})}
	if len(of.reports) == 0 || len(of.reports[0].Tiers) < 2 {
		return nil
	}
	for i := range of.reports[0].Tiers {
		for _, report := range of.reports {
			g := &report.Tiers[i]
			t.add(slices.Concat(
				[]string{g.Name, report.Policy, count(g.Tenants), percent(part(g.Busy, report)), count(g.Served)},
				refusals(g, seen), waits(g.Wait), []string{spell(g.Suffered)})...)
		}
	}
	return t
}

// tenantTable has the worst tenants of one policy.
func tenantTable(report *replay.Report) *table {
	t := &table{names: 2, head: slices.Concat(
		[]string{"tenant", "tier", "requests", "served", "refused", "lost"}, waitHead, []string{"alone p99", "suffered"})}
	for i := range report.Tenants {
		g := &report.Tenants[i]
		t.add(slices.Concat(
			[]string{g.Name, g.Tier, count(g.Requests), count(g.Served), count(g.Turned()), count(g.Lost)},
			waits(g.Wait), []string{spell(g.Alone.P99), spell(g.Suffered)})...)
	}
	return t
}

// terms explain the columns of the tables.
var terms = [][2]string{
	{"load", "offered load: the work that the requests bring, as a part of what the slots can do in that time"},
	{"use", "part of the slot time that was used, from the first arrival to the last end"},
	{"refused", "turned away; then by reason, those that occurred: plan costs more than the plan ever allows, tenant its rate\n" +
		"is spent, share it has too many waiting or waited too long at its own share, capacity the service is full"},
	{"lost", "of those refused: how many would have been served with no other tenants there"},
	{"p50 to max", "how long those served waited for a slot: half of them not longer than p50, 99 of 100 not longer than p99"},
	{"worst", "the p99 of the tenant that has the highest one (of a tenant with few requests, its longest wait)"},
	{"middle", "the p99 of the tenant in the middle: of those of whom anything was served, half have a higher one"},
	{"idle", "slot-seconds that nobody used while somebody waited"},
	{"alone p99", "what the tenant's p99 would be with no other tenants there, on the slots that the policy lets it hold"},
	{"suffered", "the mean wait that the other tenants caused; negative where they took some of a tenant's own crowd away"},
}

func part(busy time.Duration, of *replay.Report) float64 {
	if of.Span == 0 {
		return 0
	}
	return float64(busy) / float64(of.Span) / float64(of.Capacity)
}
