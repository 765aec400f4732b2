package slots

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
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

// One quiet request every 10 ms while the flood runs: each takes the next slot that ends.
func TestCore_TrickleBesideAFloodTakesTheNextSlot(t *testing.T) {
	for _, tt := range []struct {
		name string
		ends func(i int) int64 // when the i-th of the first slots does
		want int64
	}{
		{"all slots end every 20 ms", func(int) int64 { return 20 * ms }, 40 * ms},
		{"a slot ends every 2 ms", func(i int) int64 { return int64(20+2*i) * ms }, 22 * ms},
	} {
		var load []arrival
		for i := range 10 {
			load = append(load, arrival{at: 0, tenant: "noisy", held: tt.ends(i)})
		}
		load = append(load, flood(0, "noisy", 490, 20*ms)...)
		for i := range int64(90) {
			load = append(load, arrival{at: (50 + 10*i) * ms, tenant: "quiet", held: 20 * ms})
		}
		out := simulate(t, Fair, 10, shares(t, map[string]int{"noisy": 6, "quiet": 6}), load)
		if quiet, _ := latencies(out, "quiet"); quiet[len(quiet)-1] > tt.want {
			t.Errorf("%s: quiet max %d ms, want at most %d", tt.name, quiet[len(quiet)-1]/ms, tt.want/ms)
		}
	}
}

func TestCore_EqualTenantsGetEqualGrants(t *testing.T) {
	if why := equalGrants(t, theCore); why != "" {
		t.Error(why)
	}
}

// equalGrants says whose grants differ by more than one, of equal tenants that flood; "": nobody's.
func equalGrants(t *testing.T, of func(*Core) subject) string {
	for _, tt := range []struct{ tenants, capacity, share int }{
		{10, 2, 1}, {10, 2, 3}, {10, 2, 6}, {7, 3, 2}, {12, 5, 1}, {5, 8, 2}, {3, 2, 1},
	} {
		share := map[string]int{}
		var load []arrival
		for i := range tt.tenants {
			id := fmt.Sprint("t", i)
			share[id] = tt.share
			load = append(load, flood(0, id, 400, 20*ms)...)
		}
		grants := map[string]int{}
		until := int64(300*20*tt.tenants/tt.capacity) * ms
		for i, s := range (simulation{capacity: tt.capacity, tiers: shares(t, share), load: load, until: until, of: of}).run(t) {
			grants[s.tenant]++
			if i < 3*tt.capacity*tt.tenants {
				continue // the first to come had the whole pool at first
			}
			least, most := math.MaxInt, 0
			for id := range share {
				least, most = min(least, grants[id]), max(most, grants[id])
			}
			if most-least > 1 {
				return fmt.Sprintf("%d tenants of share %d on %d slots: grants are %v", tt.tenants, tt.share, tt.capacity, grants)
			}
		}
	}
	return ""
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

// A tenant at its ceiling leaves the rest to the others, and a share counts from when it changes, also while slots are
// held.
func TestCore_CeilingsAndChangesOfShareTakeEffect(t *testing.T) {
	tiers, err := tenant.NewTiers("capped", tenant.Tier{Name: "capped", Share: 2, Ceiling: 3}, tenant.Tier{Name: "small", Share: 2},
		tenant.Tier{Name: "big", Share: 8})
	if err != nil {
		t.Fatal(err)
	}
	assign := func(id, tier string) func(subject, int64) {
		return func(s subject, now int64) {
			if err := tiers.Assign(id, tier); err != nil {
				t.Fatal(err)
			}
			s.Retune(now, id)
		}
	}
	out := simulation{
		capacity: 10, tiers: tiers, until: 7000 * ms,
		load: append(flood(0, "a", 4000, 20*ms), flood(0, "b", 4000, 20*ms)...),
		changes: []change{
			{0, assign("a", "capped")}, {0, assign("b", "small")}, {2010 * ms, assign("a", "small")}, {4010 * ms, assign("b", "big")},
		},
	}.run(t)
	for _, tt := range []struct {
		from, until int64
		want        float64 // a's part
	}{{200 * ms, 2000 * ms, .3}, {2200 * ms, 4000 * ms, .5}, {4200 * ms, 7000 * ms, .2}} {
		got := slotTime(out, 10, tt.from, tt.until)
		if math.Abs(got["a"]-tt.want) > .02 || got["a"]+got["b"] < 1-1e-9 {
			t.Errorf("from %d to %d ms: slot time divides %v, want %.2f for a, all used", tt.from/ms, tt.until/ms, got, tt.want)
		}
	}
}
