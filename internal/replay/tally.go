package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// tally is what became of the requests of a group so far.
type tally struct {
	name, tier  string
	tenants     int
	requests    int
	served      int
	lost        int
	refused     [len(reasons)]int
	busy        int64
	wait, alone waits
	extra       float64 // what those that are served with the others as without them waited for longer
	both        int     // how many those are

	// Of a tenant.
	alones alone
	track  track
}

func (t *tally) serve(j *job, wait int64) {
	t.served++
	t.busy += j.held
	t.wait.add(wait)
	if j.alone >= 0 {
		t.extra += float64(wait - j.alone)
		t.both++
	}
}

func (t *tally) refuse(j *job, reason tenant.Reason) {
	t.refused[slices.Index(reasons[:], reason)]++
	if j.alone >= 0 {
		t.lost++
	}
}

func (t *tally) report() Group {
	g := Group{
		Name: t.name, Tier: t.tier, Tenants: t.tenants, Requests: t.requests, Served: t.served, Lost: t.lost,
		Refused: t.refused, Busy: time.Duration(t.busy), Wait: t.wait.describe(), Alone: t.alone.describe(),
	}
	if t.both > 0 {
		g.Suffered = time.Duration(t.extra / float64(t.both))
	}
	return g
}

// worstFirst is the order of the tenants of a [Report].
func worstFirst(a, b Group) int {
	return cmp.Or(
		cmp.Compare(b.Wait.P99, a.Wait.P99), cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Suffered, a.Suffered),
		cmp.Compare(a.Name, b.Name),
	)
}

// sorted returns the groups in the order of their names.
func sorted(groups map[string]*tally) []*tally {
	return slices.SortedFunc(maps.Values(groups), func(a, b *tally) int { return cmp.Compare(a.name, b.name) })
}

// busiestFirst returns the groups with the most slot time first.
func busiestFirst(groups map[string]*tally) []*tally {
	return slices.SortedFunc(maps.Values(groups), func(a, b *tally) int {
		return cmp.Or(cmp.Compare(b.busy, a.busy), cmp.Compare(a.name, b.name))
	})
}
