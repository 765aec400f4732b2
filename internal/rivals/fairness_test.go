package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/internal/flood"
	"github.com/tenantgate/tenantgate/tenant"
)

const (
	noisy = 0
	quiet = 1
)

// arrival is a request of a flood.
type arrival struct {
	at   time.Duration
	of   int
	held time.Duration
}

// floods are the three that are compared: all slots end at one instant, one ends every 2 ms, and the quiet tenant sends
// one request every 10 ms, for as long as the flood lasts.
func floods() map[string][]arrival {
	const ms = time.Millisecond
	batch := func(at time.Duration, of, n int) []arrival { return slices.Repeat([]arrival{{at, of, 20 * ms}}, n) }
	together := slices.Concat(batch(0, noisy, 500), batch(10*ms, quiet, 10))
	var staggered, trickle []arrival
	for i := range capacity {
		staggered = append(staggered, arrival{0, noisy, time.Duration(20+2*i) * ms})
	}
	staggered = slices.Concat(staggered, batch(0, noisy, 490), batch(50*ms, quiet, 10))
	trickle = slices.Concat(staggered[:capacity], batch(0, noisy, 490))
	for at := 15 * ms; at < time.Second; at += 10 * ms {
		trickle = append(trickle, arrival{at, quiet, 20 * ms})
	}
	return map[string][]arrival{"together": together, "staggered": staggered, "trickle": trickle}
}

// result is what became of a flood, to the millisecond.
type result struct{ median, longest, noisy time.Duration }

// play runs a flood in virtual time.
func play(t *testing.T, r rival, load []arrival) (got result) {
	synctest.Test(t, func(t *testing.T) {
		slots := r.new(2)
		line := callers(2, 2)
		start := time.Now()
		took := make([]time.Duration, len(load))
		var all sync.WaitGroup
		for i, a := range load {
			all.Go(func() {
				time.Sleep(a.at + time.Duration(i)) // those of one instant come in the order of the trace
				if err := slots(t.Context(), &line[a.of], func() { time.Sleep(a.held) }); err != nil {
					t.Error(err)
				}
				took[i] = (time.Since(start) - a.at).Truncate(time.Millisecond)
			})
		}
		all.Wait()
		var waited []time.Duration
		for i, a := range load {
			if a.of == quiet {
				waited = append(waited, took[i])
			} else {
				got.noisy = max(got.noisy, a.at+took[i])
			}
		}
		slices.Sort(waited)
		n := len(waited)
		got.median, got.longest = (waited[(n-1)/2]+waited[n/2])/2, waited[n-1]
	})
	return got
}

// The pools of the flood: a share of 6 of 10.
func flooded() []rival {
	tiers := must(tenant.NewTiers("std", tenant.Tier{Name: "std", Share: flood.Share}))
	return []rival{
		oneQueue,
		{name: "hard cap of 6 (bulkhead)", new: func(int) run { return newCapped(tiers) }},
		{name: "published rule", new: func(int) run { return through(flood.NewPublished(capacity, tiers)) }},
		apiserver,
		{name: "fairslots", new: func(int) run { return newShared(tiers) }},
	}
}

// The quiet tenant is served as soon as by the API server's queue per tenant, or sooner: half of its requests in all
// floods, and the last of them where all slots end together and where it trickles. Where slots end one by one, the last
// may wait for one slot more, because of the share, which those queues do not know. And of all that spare the quiet
// tenant the flood, none has it over sooner. Run with -v it prints the table.
func TestFairness_IsThatOfAQueuePerTenant(t *testing.T) {
	const turn = 2 * time.Millisecond // until the next slot ends
	later := map[string]time.Duration{"staggered": turn}
	results := map[string]map[string]result{}
	for name, load := range floods() {
		results[name] = map[string]result{}
		for _, r := range flooded() {
			results[name][r.name] = play(t, r, load)
		}
		ours, theirs := results[name]["fairslots"], results[name][apiserver.name]
		if ours.median > theirs.median || ours.longest > theirs.longest+later[name] {
			t.Errorf("%s: the quiet tenant's requests took %v, at most %v, with the API server's queues %v and %v, want no more",
				name, ours.median, ours.longest, theirs.median, theirs.longest)
		}
		for rival, r := range results[name] {
			if rival != oneQueue.name && ours.noisy > r.noisy {
				t.Errorf("%s: the flood took %v, with %s %v, want no more", name, ours.noisy, rival, r.noisy)
			}
		}
	}
	t.Logf("\n%s", table(results))
}

func table(results map[string]map[string]result) string {
	var b strings.Builder
	b.WriteString("| the quiet tenant's median / longest, the flood | together | staggered | trickle |\n")
	b.WriteString("| --- | --- | --- | --- |\n")
	for _, r := range flooded() {
		fmt.Fprintf(&b, "| %s |", r.name)
		for _, name := range []string{"together", "staggered", "trickle"} {
			got := results[name][r.name]
			fmt.Fprintf(&b, " %d / %d ms, %.2f s |", got.median.Milliseconds(), got.longest.Milliseconds(), got.noisy.Seconds())
		}
		b.WriteString("\n")
	}
	return b.String()
}
