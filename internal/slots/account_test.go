package slots

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// longestWait is the longest that a tenant's requests waited for a slot.
func longestWait(out []served, id string) (longest int64) {
	for _, s := range out {
		if s.tenant == id {
			longest = max(longest, s.started-s.at)
		}
	}
	return longest
}

// A tenant of ten-second requests comes to send short ones. The grants charge ten seconds each and the releases take
// them back; that must not leave it seconds behind the virtual clock, which the grants have moved.
func TestCore_ExpectingTooMuchGivesNoCredit(t *testing.T) {
	load := append(flood(0, "long", 20, 10_000*ms), flood(20_000*ms, "long", 20_000, 20*ms)...)
	for i := range int64(50) {
		load = append(load, arrival{at: 20_500*ms + i*200*ms, tenant: "quiet", held: 20 * ms})
	}
	out := simulate(t, Fair, 10, shares(t, map[string]int{"long": 10, "quiet": 10}), load)
	if wait := longestWait(out, "quiet"); wait > 100*ms {
		t.Errorf("the quiet tenant waited %d ms, want at most 100", wait/ms)
	}
}

// A tenant floods at its ceiling for half a minute beside another that uses the rest, which moves the virtual clock
// faster. When its ceiling is raised, the time that it waited for itself does not count against the others.
func TestCore_WaitingForItsOwnCeilingGivesNoCredit(t *testing.T) {
	tiers, err := tenant.NewTiers("capped", tenant.Tier{Name: "capped", Share: 3, Ceiling: 3},
		tenant.Tier{Name: "small", Share: 1}, tenant.Tier{Name: "big", Share: 10})
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{Rule: Fair, Capacity: 10, Tiers: tiers, MaxQueue: 1000, MaxWaiting: 1000})
	of := map[*Request]string{}
	waiting := map[string]int{}
	var held, late []*Request
	enter := func(now int64, id, tier string) *Request {
		r := &Request{}
		of[r] = id
		c.Enter(now, r, tenant.Tenant{ID: id, Tier: tier})
		if r.State == Granted {
			held = append(held, r)
		} else {
			waiting[id]++
		}
		return r
	}
	// turn is 20 ms in which each tenant has ten requests waiting and every slot is held.
	turn := func(now int64, tierOf map[string]string) {
		ending := held
		held = nil
		for id, tier := range tierOf {
			for waiting[id] < 20 {
				late = append(late, enter(now, id, tier))
			}
		}
		for _, r := range ending {
			c.Leave(now, r)
		}
		c.Decided(func(r *Request) {
			waiting[of[r]]--
			held = append(held, r)
		})
	}
	now := int64(0)
	for ; now < 30_000*ms; now += 20 * ms {
		turn(now, map[string]string{"flooder": "capped", "user": "small"})
	}
	for _, r := range late {
		if r.State == Waiting && of[r] == "user" {
			c.Leave(now, r)
		}
	}
	if err := tiers.Assign("flooder", "big"); err != nil {
		t.Fatal(err)
	}
	c.Retune(now, "flooder")
	first := enter(now, "newcomer", "big")
	since := now
	for ; first.State == Waiting && now < since+1000*ms; now += 20 * ms {
		turn(now, map[string]string{"flooder": "big"})
	}
	if waited := now - since; first.State == Waiting || waited > 200*ms {
		t.Errorf("the newcomer waited %d ms for its first slot, want at most 200", waited/ms)
	}
}

// What a grant charged is taken back at the share at which it was charged, or a downgrade in between would pay out.
func TestCore_ChangeOfShareWhileHoldingSettlesWhatWasCharged(t *testing.T) {
	for _, tt := range []struct{ from, to int }{{10, 1}, {1, 10}, {3, 3}} {
		t.Run(fmt.Sprint(tt.from, " to ", tt.to), func(t *testing.T) {
			tiers := shares(t, map[string]int{"from": tt.from, "to": tt.to})
			c := New(Config{Rule: Fair, Capacity: 1, Tiers: tiers, MaxQueue: 10, MaxWaiting: 10})
			var r Request
			c.Enter(0, &r, tenant.Tenant{ID: "a", Tier: "from"})
			c.Leave(500*ms, &r) // it is expected to hold for as long
			c.Enter(500*ms, &r, tenant.Tenant{ID: "a"})
			if err := tiers.Assign("a", "to"); err != nil {
				t.Fatal(err)
			}
			c.Retune(500*ms, "a")
			before := c.lanes["a"].tag - r.charged
			c.Leave(520*ms, &r)
			if got, want := c.lanes["a"].tag-before, float64(20*ms)/float64(tt.to); got < want-1 || got > want+1 {
				t.Errorf("20 ms held at a share of %d count %.0f, want %.0f", tt.to, got, want)
			}
		})
	}
}

func TestCore_ForgetsManyTenantsAPartAtATime(t *testing.T) {
	c := New(Config{Capacity: 1, Tiers: shares(t, map[string]int{"std": 1})})
	const tenants = 5000
	for i := range tenants {
		var r Request
		c.Enter(0, &r, tenant.Tenant{ID: fmt.Sprint("t", i)})
		c.Leave(0, &r)
	}
	ticks := 0
	for at := c.Next(); at != Never; at = c.Next() {
		if at != ForgetAfter {
			t.Fatalf("the next tick is due at %d, want %d", at, int64(ForgetAfter))
		}
		before := len(c.lanes)
		c.Tick(at)
		if n := before - len(c.lanes); n > 2000 {
			t.Fatalf("one tick forgot %d tenants", n)
		}
		ticks++
	}
	if len(c.lanes) > 0 || ticks < 2 {
		t.Errorf("%d tenants are remembered after %d ticks", len(c.lanes), ticks)
	}
}

// When most tenants are forgotten at once, what has their number's size is made anew: those who stay keep their turns.
func TestCore_ForgettingMostTenantsKeepsTheTurnsOfTheOthers(t *testing.T) {
	c := New(Config{Capacity: 1, Tiers: shares(t, map[string]int{"std": 1}), MaxQueue: 10, MaxWaiting: 100})
	var holder, idle Request
	come := func(from, to int) {
		for i := from; i < to; i++ {
			c.Enter(0, &idle, tenant.Tenant{ID: fmt.Sprint("idle", i)})
			c.Leave(0, &idle)
		}
	}
	come(0, 30)
	var waiting []*Request
	wait := func(now int64, id string) {
		r := &Request{}
		c.Enter(now, r, tenant.Tenant{ID: id})
		waiting = append(waiting, r)
	}
	c.Enter(0, &holder, tenant.Tenant{ID: "holder"})
	for i := range 20 {
		wait(0, fmt.Sprint("before", i))
	}
	come(30, 3000)
	for len(c.lanes) > 21 {
		c.Tick(c.Next())
		if err := checkSums(c); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.spare) > 0 || c.peak > 21 {
		t.Errorf("%d numbers are spare, of a peak of %d tenants", len(c.spare), c.peak)
	}
	for i := range 20 {
		wait(ForgetAfter, fmt.Sprint("after", i))
		if err := checkSums(c); err != nil {
			t.Fatal(err)
		}
	}
	next := &holder
	for i, want := range waiting {
		c.Leave(ForgetAfter, next)
		c.Decided(func(r *Request) { next = r })
		if next != want {
			t.Fatalf("the turn after %d others is not that of who waits longest", i)
		}
		if err := checkSums(c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAverage_LowIsWhatMostValuesExceed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   float64
		within float64
	}{
		{"nothing", nil, 0, 0},
		{"one value may be far out", []float64{100}, 50, 0},
		{"equal values", slices.Repeat([]float64{100}, 40), 100, 1},
		{"values that vary", slices.Repeat([]float64{50, 150}, 40), 50, 15},
		{"values that vary more than their mean", slices.Repeat([]float64{1, 1, 1, 1000}, 40), 0, 0},
		{"values that have become smaller", slices.Concat([]float64{900, 900, 900}, slices.Repeat([]float64{10}, 40)), 10, 2},
	} {
		a := Average{}
		for _, v := range tt.values {
			a.Add(v, TenantWeight)
		}
		if got := a.Low(); math.Abs(got-tt.want) > tt.within {
			t.Errorf("%s: low is %.1f, want %.1f within %.1f", tt.name, got, tt.want, tt.within)
		}
	}
}

func TestCore_RetryAfterIsWhatTheTenantsQueueTakes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		share   int
		others  int // slots held by another tenant, of share 4
		waiting int
		want    int64
	}{
		{"on all that it holds", 1, 0, 3, 100 * ms}, // holds 4
		{"on its share", 2, 3, 3, 300 * ms},         // holds 1; sure of 2 of 6, times 4: 4/3
		{"on a part of a slot", 1, 4, 1, 250 * ms},  // holds 0; sure of 1 of 5, times 4: 4/5
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Config{Capacity: 4, Tiers: shares(t, map[string]int{"a": tt.share, "b": 4}), MaxQueue: tt.waiting, MaxWaiting: 100})
			enter := func(now int64, id string) *Request {
				r := &Request{}
				c.Enter(now, r, tenant.Tenant{ID: id, Tier: id})
				return r
			}
			if r := enter(0, "a"); r.State == Granted {
				c.Leave(100*ms, r)
			}
			for range tt.others {
				enter(100*ms, "b")
			}
			for range 4 - tt.others + tt.waiting {
				enter(100*ms, "a")
			}
			r := enter(100*ms, "a")
			if diff := r.RetryAfter - tt.want; r.State != Refused || diff < -1 || diff > 1 {
				t.Errorf("state %d, RetryAfter %d µs, want %d", r.State, r.RetryAfter/1000, tt.want/1000)
			}
		})
	}
}
