package slots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// division is a load of floods, and how slot time has to divide.
type division struct {
	name     string
	capacity int
	share    map[string]int
	held     map[string]int64   // 20 ms where it is not said
	width    map[string]int     // 1 where it is not said
	want     map[string]float64 // parts of all
	within   float64
}

func TestCore_SlotTimeDividesAsShares(t *testing.T) {
	twentyOfOne := map[string]int{"big": 20}
	for i := range 20 {
		twentyOfOne[fmt.Sprint("small", i)] = 1
	}
	for _, d := range []division{
		{"1:3:6 on ten", 10, map[string]int{"a": 1, "b": 3, "c": 6}, nil, nil,
			map[string]float64{"a": .1, "b": .3, "c": .6}, .01},
		{"1:3:6 on three", 3, map[string]int{"a": 1, "b": 3, "c": 6}, nil, nil,
			map[string]float64{"a": .1, "b": .3, "c": .6}, .02},
		{"20 among twenty of 1 on ten", 10, twentyOfOne, nil, nil, map[string]float64{"big": .5}, .03},
		{"long against short below their shares", 10, map[string]int{"long": 10, "short": 10},
			map[string]int64{"long": 200 * ms}, nil, map[string]float64{"long": .5, "short": .5}, .02},
		{"long against short", 10, map[string]int{"long": 6, "short": 6}, map[string]int64{"long": 200 * ms}, nil,
			map[string]float64{"long": .5, "short": .5}, .02},
		{"three equal on ten, shares of 2", 10, map[string]int{"a": 2, "b": 2, "c": 2}, nil, nil,
			map[string]float64{"a": 1. / 3, "b": 1. / 3, "c": 1. / 3}, .04},
		{"unused capacity divides as shares", 12, map[string]int{"a": 1, "b": 2}, nil, nil,
			map[string]float64{"a": 1. / 3, "b": 2. / 3}, .02},
		{"narrow against wide", 12, map[string]int{"wide": 6, "narrow": 6}, nil, map[string]int{"wide": 3},
			map[string]float64{"wide": .5, "narrow": .5}, .05},
	} {
		t.Run(d.name, func(t *testing.T) {
			if why := d.divides(t, theCore); why != "" {
				t.Error(why)
			}
		})
	}
}

// Long requests are charged for when they are granted, or they would take all slots before the first ends.
func TestCore_LongRequestsDoNotShutOutShortOnes(t *testing.T) {
	if why := shortAreShutOut(t, theCore); why != "" {
		t.Error(why)
	}
}

// shortAreShutOut says for how long a tenant of short requests gets no slot beside one of long ones; "": for no longer than
// three turns of its own.
func shortAreShutOut(t *testing.T, of func(*Core) subject) string {
	load := append(flood(0, "long", 400, 200*ms), flood(0, "short", 3000, 20*ms)...)
	tiers := shares(t, map[string]int{"long": 10, "short": 10})
	out := simulation{capacity: 10, tiers: tiers, load: load, until: 5000 * ms, of: of}.run(t)
	if gap := longestGap(out, "short", 1000*ms, 4000*ms); gap > 60*ms {
		return fmt.Sprintf("no short request is granted a slot for %d ms, want at most 60", gap/ms)
	}
	return ""
}

// divides says whose slot time is not as it should be; "": nobody's.
func (d division) divides(t *testing.T, of func(*Core) subject) string {
	const until = 6000 * ms
	var load []arrival
	for id := range d.share {
		held := d.held[id]
		if held == 0 {
			held = 20 * ms
		}
		requests := flood(0, id, int(until/held)*d.capacity, held)
		for i := range requests {
			requests[i].width = d.width[id]
		}
		load = append(load, requests...)
	}
	out := simulation{capacity: d.capacity, tiers: shares(t, d.share), load: load, until: until, of: of}.run(t)
	got := slotTime(out, d.capacity, 1000*ms, until-200*ms)
	for id, want := range d.want {
		if math.Abs(got[id]-want) > d.within {
			return fmt.Sprintf("%s got %.3f of the slot time, want %.3f within %.3f (all: %v)", id, got[id], want, d.within, got)
		}
	}
	return ""
}

// Whatever the shares and the holding times: where the shares use up the capacity, to two points; else to one slot.
func TestCore_SlotTimeDividesAsAnySharesDo(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 2))
		d := division{
			name: fmt.Sprint("seed ", seed), capacity: 2 + rng.IntN(15),
			share: map[string]int{}, held: map[string]int64{}, want: map[string]float64{},
		}
		total := 0
		for i := range 2 + rng.IntN(6) {
			id := fmt.Sprint("t", i)
			d.share[id] = 1 + rng.IntN(8)
			d.held[id] = (5 + rng.Int64N(40)) * ms
			total += d.share[id]
		}
		for id, n := range d.share {
			d.want[id] = float64(n) / float64(total)
		}
		d.within = .02
		if total < d.capacity {
			d.within = 1 / float64(d.capacity)
		}
		if why := d.divides(t, theCore); why != "" {
			t.Errorf("%s: capacity %d, shares %v, held %v: %s", d.name, d.capacity, d.share, d.held, why)
		}
	}
}
