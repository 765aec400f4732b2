package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
)

// contest is fairslots against another policy on the same requests.
type contest struct {
	other string
	// p99 are the waits of all requests, worst the p99 of whatever tenant has the highest.
	p99, worst versus[time.Duration]
	refused    versus[int]
	// later and sooner are how many tenants have a higher and a lower p99 with fairslots, of those both serve.
	later, sooner int
	// latest is the tenant that loses the most by fairslots, where any does.
	latest       string
	latestWaits  versus[time.Duration]
	moreRefused  int
	mostRefused  string
	mostRefusals versus[int]
}

// versus is a figure with fairslots and with the other policy.
type versus[N int | time.Duration] struct{ fair, other N }

// lost says whether fairslots has the higher figure by more than percentiles may be off.
func (v versus[N]) lost() bool {
	return v.fair > v.other && float64(v.fair-v.other) > 0.02*float64(v.other)
}

func (v versus[N]) swap() versus[N] { return versus[N]{v.other, v.fair} }

// contests compares fairslots with the other policies, nil where it is not among them. The reports list all tenants.
func contests(policies []replay.Policy, reports []*replay.Report) (all []contest) {
	mine := slices.Index(policies, replay.FairSlots)
	if mine < 0 {
		return nil
	}
	for i, report := range reports {
		if i != mine {
			all = append(all, newContest(reports[mine], report))
		}
	}
	return all
}

func newContest(fair, other *replay.Report) contest {
	c := contest{
		other:   other.Policy,
		p99:     versus[time.Duration]{fair.All.Wait.P99, other.All.Wait.P99},
		worst:   versus[time.Duration]{worstP99(fair), worstP99(other)},
		refused: versus[int]{fair.All.Turned(), other.All.Turned()},
	}
	others := make(map[string]*replay.Group, len(other.Tenants))
	for i := range other.Tenants {
		others[other.Tenants[i].Name] = &other.Tenants[i]
	}
	for i := range fair.Tenants {
		c.count(&fair.Tenants[i], others[fair.Tenants[i].Name])
	}
	return c
}

// count counts what one tenant has of fairslots.
func (c *contest) count(fair, other *replay.Group) {
	if fair.Served > 0 && other.Served > 0 {
		waits := versus[time.Duration]{fair.Wait.P99, other.Wait.P99}
		if waits.swap().lost() {
			c.sooner++
		}
		if waits.lost() {
			c.later++
			if waits.fair-waits.other > c.latestWaits.fair-c.latestWaits.other {
				c.latest, c.latestWaits = fair.Name, waits
			}
		}
	}
	refused := versus[int]{fair.Turned(), other.Turned()}
	if refused.fair > refused.other {
		c.moreRefused++
		if refused.fair-refused.other > c.mostRefusals.fair-c.mostRefusals.other {
			c.mostRefused, c.mostRefusals = fair.Name, refused
		}
	}
}

func worstP99(r *replay.Report) time.Duration {
	if len(r.Tenants) == 0 {
		return 0
	}
	return r.Tenants[0].Wait.P99
}

// middleP99 needs a report that lists all tenants. One of whom nothing was served has no wait, and does not count: else
// a policy would look the better the more tenants it turns away.
func middleP99(r *replay.Report) time.Duration {
	var served []time.Duration
	for i := range r.Tenants {
		if g := &r.Tenants[i]; g.Served > 0 {
			served = append(served, g.Wait.P99)
		}
	}
	if len(served) == 0 {
		return 0
	}
	return served[len(served)/2]
}

// losses says in words where fairslots is worse, "" where it nowhere is.
func (c *contest) losses() string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if c.p99.lost() {
		add("p99 of all requests %s, not %s", spell(c.p99.fair), spell(c.p99.other))
	}
	if c.worst.lost() {
		add("worst tenant's p99 %s, not %s", spell(c.worst.fair), spell(c.worst.other))
	}
	if c.later > 0 {
		add("p99 higher for %s, most for %s (%s, not %s)",
			tenants(c.later), c.latest, spell(c.latestWaits.fair), spell(c.latestWaits.other))
	}
	if c.refused.fair > c.refused.other {
		add("%d refused, not %d", c.refused.fair, c.refused.other)
	}
	if c.moreRefused > 0 {
		add("more refused of %s, most of %s (%d, not %d)",
			tenants(c.moreRefused), c.mostRefused, c.mostRefusals.fair, c.mostRefusals.other)
	}
	return strings.Join(all, "; ")
}

// gains says in words where it is better.
func (c *contest) gains() string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if c.worst.swap().lost() {
		add("worst tenant's p99 %s, not %s", spell(c.worst.fair), spell(c.worst.other))
	}
	if c.sooner > 0 {
		add("p99 lower for %s", tenants(c.sooner))
	}
	if c.refused.fair < c.refused.other {
		add("%d refused, not %d", c.refused.fair, c.refused.other)
	}
	return strings.Join(all, "; ")
}

// where says of one case which policies do better than fairslots, "" where none does.
func (of *outcome) where() string {
	var all []string
	note := func(what string, lost func(*contest) (fair, other string, ok bool)) {
		var mine string
		var others []string
		for i := range of.contests {
			if fair, other, ok := lost(&of.contests[i]); ok {
				mine, others = fair, append(others, of.contests[i].other+" "+other)
			}
		}
		if others != nil {
			all = append(all, fmt.Sprintf("%s %s (%s)", what, mine, strings.Join(others, ", ")))
		}
	}
	note("worst tenant's p99", func(c *contest) (string, string, bool) {
		return spell(c.worst.fair), spell(c.worst.other), c.worst.lost()
	})
	note("p99 of all requests", func(c *contest) (string, string, bool) {
		return spell(c.p99.fair), spell(c.p99.other), c.p99.lost()
	})
	note("refused", func(c *contest) (string, string, bool) {
		return count(c.refused.fair), count(c.refused.other), c.refused.fair > c.refused.other
	})
	var higher []string
	for _, c := range of.contests {
		if c.later > 0 {
			higher = append(higher, fmt.Sprintf("%s than with %s", tenants(c.later), c.other))
		}
	}
	if higher != nil {
		all = append(all, "p99 higher for "+strings.Join(higher, ", "))
	}
	return strings.Join(all, "; ")
}
