package slots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func latencies(out []served, id string) (all []int64, last int64) {
	for _, s := range out {
		if s.tenant == id {
			all = append(all, s.latency())
			last = max(last, s.started+s.held)
		}
	}
	slices.Sort(all)
	return all, last
}

func TestCore_FloodMeetsTheBound(t *testing.T) {
	load := append(flood(0, "noisy", 500, 20*ms), flood(10*ms, "quiet", 10, 20*ms)...)
	tiers := shares(t, map[string]int{"noisy": 6, "quiet": 6})
	for _, tt := range []struct {
		rule               Rule
		median, max, batch int64
	}{
		{Fair, 30 * ms, 50 * ms, 1020 * ms},
		{Hard, 30 * ms, 50 * ms, 1680 * ms},
	} {
		out := simulate(t, tt.rule, 10, tiers, load)
		quiet, _ := latencies(out, "quiet")
		_, batch := latencies(out, "noisy")
		median := (quiet[4] + quiet[5]) / 2
		if median != tt.median || quiet[9] != tt.max || batch != tt.batch {
			t.Errorf("rule %d: quiet median %d ms, max %d ms, noisy batch %d ms; want %d, %d, %d", tt.rule,
				median/ms, quiet[9]/ms, batch/ms, tt.median/ms, tt.max/ms, tt.batch/ms)
		}
	}
}

// A flood whose slots end one every 2 ms: the quiet tenant's first six requests take the next six slots.
func TestCore_StaggeredFloodMeetsTheBound(t *testing.T) {
	var load []arrival
	for i := range 10 {
		load = append(load, arrival{at: 0, tenant: "noisy", held: int64(20+2*i) * ms})
	}
	load = append(load, flood(0, "noisy", 490, 20*ms)...)
	load = append(load, flood(50*ms, "quiet", 10, 20*ms)...)
	out := simulate(t, Fair, 10, shares(t, map[string]int{"noisy": 6, "quiet": 6}), load)
	quiet, _ := latencies(out, "quiet")
	if median := (quiet[4] + quiet[5]) / 2; median > 31*ms || quiet[9] > 48*ms {
		t.Errorf("quiet median %d ms, max %d ms; want at most 31 and 48", median/ms, quiet[9]/ms)
	}
}

func TestCore_SlotTimeDividesAsShares(t *testing.T) {
	twentyOfOne := map[string]int{"big": 20}
	for i := range 20 {
		twentyOfOne[fmt.Sprint("small", i)] = 1
	}
	for _, tt := range []struct {
		name     string
		capacity int
		share    map[string]int
		held     map[string]int64
		want     map[string]float64
		within   float64
	}{
		{"1:3:6 on ten", 10, map[string]int{"a": 1, "b": 3, "c": 6}, nil, map[string]float64{"a": .1, "b": .3, "c": .6}, .01},
		{"1:3:6 on three", 3, map[string]int{"a": 1, "b": 3, "c": 6}, nil, map[string]float64{"a": .1, "b": .3, "c": .6}, .02},
		{"20 among twenty of 1 on ten", 10, twentyOfOne, nil, map[string]float64{"big": .5}, .03},
		{"long against short", 10, map[string]int{"long": 6, "short": 6}, map[string]int64{"long": 200 * ms},
			map[string]float64{"long": .5, "short": .5}, .02},
		{"three equal on ten, shares of 2", 10, map[string]int{"a": 2, "b": 2, "c": 2}, nil,
			map[string]float64{"a": 1. / 3, "b": 1. / 3, "c": 1. / 3}, .04},
		{"unused capacity divides as shares", 12, map[string]int{"a": 1, "b": 2}, nil, map[string]float64{"a": 1. / 3, "b": 2. / 3}, .02},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var load []arrival
			for id := range tt.share {
				held := tt.held[id]
				if held == 0 {
					held = 20 * ms
				}
				load = append(load, flood(0, id, int(8000*ms/held)*tt.capacity, held)...)
			}
			out := simulate(t, Fair, tt.capacity, shares(t, tt.share), load)
			got := slotTime(out, tt.capacity, 0, 4000*ms)
			for id, want := range tt.want {
				if math.Abs(got[id]-want) > tt.within {
					t.Errorf("%s got %.3f of the slot time, want %.3f within %.3f (all: %v)", id, got[id], want, tt.within, got)
				}
			}
		})
	}
}

func TestCore_EqualTenantsGetEqualGrants(t *testing.T) {
	for _, tt := range []struct{ tenants, capacity, share int }{
		{10, 2, 1}, {10, 2, 3}, {10, 2, 6}, {7, 3, 2}, {12, 5, 1}, {5, 8, 2}, {3, 2, 1},
	} {
		const each = 400
		share := map[string]int{}
		var load []arrival
		for i := range tt.tenants {
			id := fmt.Sprint("t", i)
			share[id] = tt.share
			load = append(load, flood(0, id, each, 20*ms)...)
		}
		grants := map[string]int{}
		worst := 0
		for i, s := range simulate(t, Fair, tt.capacity, shares(t, share), load) {
			grants[s.tenant]++
			if i < 3*tt.capacity*tt.tenants || grants[s.tenant] == each {
				continue // the first to come had the whole pool at first
			}
			least, most := math.MaxInt, 0
			for _, n := range grants {
				least, most = min(least, n), max(most, n)
			}
			if most == each {
				break
			}
			worst = max(worst, most-least)
		}
		if worst > 1 {
			t.Errorf("%d tenants of share %d on %d slots: grants differ by %d, want at most 1", tt.tenants, tt.share, tt.capacity, worst)
		}
	}
}

func TestCore_OldFlooderIsNotStarvedByNewOnes(t *testing.T) {
	load := flood(0, "old", 6000, 20*ms)
	share := map[string]int{"old": 2}
	for i := range 5 {
		id := fmt.Sprint("new", i)
		share[id] = 2
		load = append(load, flood(5000*ms, id, 1500, 20*ms)...)
	}
	var before, gap int64
	for _, s := range simulate(t, Fair, 10, shares(t, share), load) {
		if s.tenant == "old" && s.started < 9000*ms {
			if s.started > 4900*ms {
				gap = max(gap, s.started-before)
			}
			before = s.started
		}
	}
	if gap > 120*ms {
		t.Errorf("the old flooder waited %d ms for a slot, want at most 120", gap/ms)
	}
}

// Capacity 8, four tenants of share 2, two of them flooding: the rule "above the share only if nobody else waits"
// leaves four slots idle here.
func TestCore_FloodersUseTheIdleSlots(t *testing.T) {
	tiers := shares(t, map[string]int{"a": 2, "b": 2, "c": 2, "d": 2})
	out := simulate(t, Fair, 8, tiers, append(flood(0, "a", 400, 20*ms), flood(0, "b", 400, 20*ms)...))
	got := slotTime(out, 8, 200*ms, 1000*ms) // a, the first to come, had all eight slots at first
	if got["a"]+got["b"] < 1-1e-9 || math.Abs(got["a"]-got["b"]) > .01 {
		t.Errorf("a and b used %.3f and %.3f of the slot time, want half each", got["a"], got["b"])
	}
}

// A tenant of share s that was idle, on a pool flooded by others, is served within what its share and the credit give,
// however long the others' queues and its own history are.
func TestCore_NobodyBelowItsShareStarves(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		capacity := 1 + rng.IntN(10)
		share := map[string]int{"quiet": 1 + rng.IntN(4)}
		total := share["quiet"]
		var load []arrival
		for i := range 1 + rng.IntN(8) {
			id := fmt.Sprint("t", i)
			share[id] = 1 + rng.IntN(6)
			total += share[id]
			load = append(load, flood(rng.Int64N(100)*ms, id, 400+rng.IntN(4000), (5+rng.Int64N(20))*ms)...)
		}
		for i := range int64(10) {
			load = append(load, arrival{at: 300*ms + i*137*ms, tenant: "quiet", held: 20 * ms})
		}
		// Its turn comes once every other tenant below its share has caught up with the credit it may have, and its own
		// request was charged: each needs at most (credit + its longest request) x share of slot time.
		bound := float64(25*ms) + (fullCredit+float64(2*25*ms))*float64(total)/float64(capacity)
		for _, s := range simulate(t, Fair, capacity, shares(t, share), load) {
			if s.tenant == "quiet" && float64(s.started-s.at) > bound {
				t.Errorf("seed %d: capacity %d, shares %v: quiet waited %d ms, want at most %.0f",
					seed, capacity, share, (s.started-s.at)/ms, bound/float64(ms))
			}
		}
	}
}
