package slots

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// lateness is by how much the longest wait of a tenant exceeds its bound, in nanoseconds.
//
// Its turn comes once every other tenant below its share has caught up with the credit that it may have, and with what
// was charged: each needs at most (credit + twice its longest request's slot time / share) x share. Where requests are
// wide, slots idle until there are enough for the first, so that fewer serve.
func lateness(out []served, capacity int, share map[string]int, id string) float64 {
	total, charged, widest := 0, 0.0, 1
	longest, heaviest := int64(0), map[string]float64{}
	for _, s := range out {
		width := max(s.width, 1)
		longest, widest = max(longest, s.held), max(widest, width)
		heaviest[s.tenant] = max(heaviest[s.tenant], float64(s.held)*float64(width))
	}
	for id, n := range share {
		total += n
		charged += heaviest[id]
	}
	credit := fullCredit * min(1, float64(capacity)/float64(total)) * float64(total)
	bound := 2*float64(longest) + (credit+2*charged)/float64(capacity-widest+1)
	return float64(longestWait(out, id)) - bound
}

// A tenant that is quiet is served within what its share and the credit give, however long the others' queues are and
// however wide its requests or theirs.
func TestCore_NobodyBelowItsShareStarves(t *testing.T) {
	if why := nobodyStarves(t, theCore); why != "" {
		t.Error(why)
	}
}

// nobodyStarves says who does, of many random loads; "": nobody.
func nobodyStarves(t *testing.T, of func(*Core) subject) string {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		capacity := 1 + rng.IntN(10)
		widest := 1 + int(seed%3)*rng.IntN(capacity)/2
		share := map[string]int{"quiet": 1 + rng.IntN(4)}
		var load []arrival
		for i := range 1 + rng.IntN(8) {
			id := fmt.Sprint("t", i)
			share[id] = 1 + rng.IntN(6)
			requests := flood(rng.Int64N(100)*ms, id, 400+rng.IntN(2500), (5+rng.Int64N(20))*ms)
			for j := range requests {
				requests[j].width = 1 + rng.IntN(widest)
			}
			load = append(load, requests...)
		}
		total := 0
		for _, n := range share {
			total += n
		}
		// It uses half of what it is sure of.
		every := int64(2*20*widest*total/min(share["quiet"]*capacity, total)+1) * ms
		for i := range int64(10) {
			load = append(load, arrival{at: 300*ms + i*every, tenant: "quiet", held: 20 * ms, width: 1 + rng.IntN(widest)})
		}
		out := simulation{capacity: capacity, tiers: shares(t, share), load: load, until: 500*ms + 11*every, of: of}.run(t)
		served := 0
		for _, s := range out {
			if s.tenant == "quiet" {
				served++
			}
		}
		if late := lateness(out, capacity, share, "quiet"); late > 0 || served < 10 {
			return fmt.Sprintf(
				"seed %d: capacity %d, shares %v, up to %d wide: quiet was served %d times, and waited %d ms, %.0f too long",
				seed, capacity, share, widest, served, longestWait(out, "quiet")/ms, late/float64(ms))
		}
	}
	return ""
}

// Ten minutes at a small tenant's cost leave the other far behind the virtual clock, without a right to catch up: not
// when others come, nor when less capacity puts it below its share.
func TestCore_LongTimeAboveTheShareGivesNoCredit(t *testing.T) {
	const then = 600_000 * ms
	for _, tt := range []struct {
		name      string
		capacity  int
		newcomers int
	}{
		{"seven newcomers", 10, 7}, {"capacity 7", 7, 0}, {"capacity 2", 2, 0}, {"capacity 3 and two newcomers", 3, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			share := map[string]int{"a": 1, "b": 7}
			load := append(flood(0, "a", 10_000, 200*ms), flood(0, "b", 28_000, 200*ms)...)
			for i := range tt.newcomers {
				id := fmt.Sprint("new", i)
				share[id] = 1
				load = append(load, flood(then, id, 500, 200*ms)...)
			}
			out := simulation{capacity: 10, tiers: shares(t, share), load: load, until: then + 20_000*ms, changes: []change{
				{then, func(s subject, now int64) { s.Resize(now, tt.capacity) }},
			}}.run(t)
			for id := range share {
				bound := gapBound(tt.capacity, share, id, 200*ms)
				if gap := longestGap(out, id, then, then+20_000*ms); float64(gap) > bound {
					t.Errorf("%s got no slot for %d ms, want at most %.0f", id, gap/ms, bound/float64(ms))
				}
			}
		})
	}
}

// longestGap is the longest time between two grants to a tenant that floods.
func longestGap(out []served, id string, from, until int64) (gap int64) {
	last := from
	for _, s := range out {
		if s.tenant == id && s.started >= from && s.started < until {
			gap = max(gap, s.started-last)
			last = s.started
		}
	}
	return max(gap, until-last)
}

// gapBound is how long a tenant that floods among others may go without a grant: what all together may use by their
// credit, and a turn of everybody's, on all slots.
func gapBound(capacity int, share map[string]int, id string, held int64) float64 {
	total := 0
	for _, n := range share {
		total += n
	}
	scaled := fullCredit * min(1, float64(capacity)/float64(total))
	turn := float64(held) * float64(total) / float64(share[id])
	return 2*float64(held) + (scaled*float64(total)+turn)/float64(capacity)
}

// A flooder that has used up more than its share has to wait until newcomers have caught up, but no more.
func TestCore_OldFlooderIsNotStarvedByNewOnes(t *testing.T) {
	for newcomers, want := range map[int]int64{5: 120 * ms, 15: 340 * ms} {
		load := flood(0, "old", 3000, 20*ms)
		share := map[string]int{"old": 2}
		for i := range newcomers {
			id := fmt.Sprint("new", i)
			share[id] = 2
			load = append(load, flood(5000*ms, id, 1500, 20*ms)...)
		}
		out := simulation{capacity: 10, tiers: shares(t, share), load: load, until: 9000 * ms}.run(t)
		if gap := longestGap(out, "old", 4900*ms, 8000*ms); gap > want {
			t.Errorf("met by %d newcomers, the old flooder waited %d ms for a slot, want at most %d", newcomers, gap/ms, want/ms)
		}
	}
}

// A tenant bursts after it was idle, beside a flood and one that stays below its share, where the shares exceed the
// capacity. However long it was idle, the latter waits longer by no more than the burst's credit, as slot time on all
// slots, and a turn.
func TestCore_BurstAfterIdlenessCostsTheOthersTheCredit(t *testing.T) {
	for _, idle := range []int64{1000 * ms, 9000 * ms, 11_000 * ms, 3_600_000 * ms} {
		if why := burstCostsTheCredit(t, theCore, idle); why != "" {
			t.Error(why)
		}
	}
}

// burstCostsTheCredit says by how much longer the tenant below its share waits when another bursts that was idle for so
// long; "": by no more than it may.
func burstCostsTheCredit(t *testing.T, of func(*Core) subject, idle int64) string {
	const capacity = 10
	share := map[string]int{"flood": 10, "burst": 10, "steady": 5}
	burst := 500*ms + idle
	load := []arrival{{at: 0, tenant: "burst", held: 20 * ms}}
	// The time of idleness is filled with requests as long as makes 4,000 of them, the time of the burst with short ones.
	long := max(idle*capacity/4000, 20*ms)
	load = append(load, flood(100*ms, "flood", int(max(idle-1000*ms, 0)*capacity/long), long)...)
	load = append(load, flood(100*ms, "flood", 3000, 20*ms)...)
	for at := burst - 200*ms; at < burst+2000*ms; at += 20 * ms {
		load = append(load, arrival{at: at + 3*ms, tenant: "steady", held: 20 * ms})
	}
	wait := func(load []arrival) int64 {
		s := simulation{capacity: capacity, tiers: shares(t, share), load: load, until: burst + 3000*ms, of: of}
		return longestWait(s.run(t), "steady")
	}
	extra := wait(append(slices.Clone(load), flood(burst, "burst", 500, 20*ms)...)) - wait(load)
	const credit = fullCredit * capacity / 25.
	if bound := credit*10/capacity + float64(20*ms); float64(extra) > bound {
		return fmt.Sprintf("after %d ms of idleness a burst makes another wait %d ms longer, want at most %.0f",
			idle/ms, extra/ms, bound/float64(ms))
	}
	return ""
}

// Fifty tenants that may have ten slots each, of four: all take turns, and one that comes late to them waits for one.
func TestCore_ManyTimesOversubscribedSharesTakeTurns(t *testing.T) {
	const tenants, capacity = 50, 4
	share := map[string]int{"late": 10}
	var load []arrival
	for i := range tenants {
		id := fmt.Sprint("t", i)
		share[id] = 10
		load = append(load, flood(0, id, 200, 20*ms)...)
	}
	for i := range int64(5) {
		load = append(load, arrival{at: 1000*ms + i*300*ms, tenant: "late", held: 20 * ms})
	}
	out := simulation{capacity: capacity, tiers: shares(t, share), load: load, until: 5000 * ms}.run(t)
	turn := int64((tenants + 1) * 20 * ms / capacity)
	for id := range share {
		if id == "late" {
			if wait := longestWait(out, id); wait > turn {
				t.Errorf("the late tenant waited %d ms, want at most a turn of all, %d", wait/ms, turn/ms)
			}
		} else if gap := longestGap(out, id, 1000*ms, 4500*ms); gap > 2*turn {
			t.Errorf("%s waited %d ms for a slot, want at most two turns of all, %d", id, gap/ms, 2*turn/ms)
		}
	}
}

// A request for all slots is served although there are always narrow ones that would take those that are free.
func TestCore_WideRequestIsNotOvertakenForEver(t *testing.T) {
	if why := wideIsServed(t, theCore); why != "" {
		t.Error(why)
	}
}

// wideIsServed says for how long the wide request waits; "": for no longer than a turn of those who hold slots.
func wideIsServed(t *testing.T, of func(*Core) subject) string {
	share := map[string]int{"wide": 10}
	load := []arrival{{at: 200 * ms, tenant: "wide", held: 20 * ms, width: 10}}
	for i := range int64(9) {
		id := fmt.Sprint("narrow", i)
		share[id] = 1
		for at := i * 2 * ms; at < 1000*ms; at += 20 * ms {
			load = append(load, arrival{at: at, tenant: id, held: 19 * ms})
		}
	}
	out := simulation{capacity: 10, tiers: shares(t, share), load: load, of: of}.run(t)
	if wait := longestWait(out, "wide"); wait > 20*ms {
		return fmt.Sprintf("the wide request waits %d ms, want at most 20", wait/ms)
	}
	return ""
}

// Neither do wide requests keep narrow ones waiting nor the other way round.
func TestCore_WideAndNarrowRequestsDoNotStarveEachOther(t *testing.T) {
	share := map[string]int{"wide": 5, "narrow": 5}
	flooding := func(id string, width int) []arrival {
		load := flood(0, id, 3000, 20*ms)
		for i := range load {
			load[i].width, load[i].held = width, int64(15+i%10)*ms
		}
		return load
	}
	trickling := func(id string, width int) (load []arrival) {
		for i := range int64(20) {
			load = append(load, arrival{at: (203 + 100*i) * ms, tenant: id, held: 20 * ms, width: width})
		}
		return load
	}
	for _, width := range []int{2, 5, 10, 99} {
		for _, tt := range []struct {
			quiet string
			load  []arrival
		}{
			{"narrow", append(flooding("wide", width), trickling("narrow", 1)...)},
			{"wide", append(flooding("narrow", 1), trickling("wide", width)...)},
		} {
			out := simulation{capacity: 10, tiers: shares(t, share), load: tt.load, until: 3000 * ms}.run(t)
			if wait := longestWait(out, tt.quiet); wait > 50*ms {
				t.Errorf("%d wide: a %s request waited %d ms, want at most two turns of 25 ms", width, tt.quiet, wait/ms)
			}
		}
		if width > 5 {
			continue
		}
		both := append(flooding("wide", width), flooding("narrow", 1)...)
		out := simulation{capacity: 10, tiers: shares(t, share), load: both, until: 3000 * ms}.run(t)
		if got := slotTime(out, 10, 500*ms, 2500*ms); got["wide"] < .4 || got["narrow"] < .4 {
			t.Errorf("%d wide, both flooding: slot time divides %v, want about half each", width, got)
		}
	}
}
