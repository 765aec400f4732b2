package replay_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/internal/replay"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

const ms = time.Millisecond

// A flood of 500 requests of 20 ms meets ten quiet ones, on ten slots of which each tenant is sure of six. Waits are 20 ms
// less than what the requests take.
func TestRun_FloodThroughEachPolicy(t *testing.T) {
	tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 6})
	trace := append(flood(0, "noisy", 500, 20*ms), flood(10*ms, "quiet", 10, 20*ms)...)
	for _, tt := range []struct {
		policy            replay.Policy
		median, max, span time.Duration
	}{
		{replay.Shared, 990 * ms, 990 * ms, 1020 * ms},
		{replay.Cap, 10 * ms, 30 * ms, 1680 * ms},
		{replay.Published, 30 * ms, 50 * ms, 1020 * ms},
		{replay.FairSlots, 10 * ms, 30 * ms, 1020 * ms},
	} {
		t.Run(tt.policy.String(), func(t *testing.T) {
			r := run(t, replay.Config{Policy: tt.policy, Capacity: 10, Tiers: tiers, MaxQueue: 1000, MaxWait: -1}, trace)
			quiet := r.Tenants[1]
			if tt.policy == replay.Shared {
				quiet = r.Tenants[0]
			}
			if quiet.Name != "quiet" || quiet.Wait.P50 != tt.median || quiet.Wait.Max != tt.max || r.Span != tt.span {
				t.Errorf("%s waited %v, at most %v, all took %v; want quiet, %v, %v, %v",
					quiet.Name, quiet.Wait.P50, quiet.Wait.Max, r.Span, tt.median, tt.max, tt.span)
			}
			if want := 510 * 20 * ms; r.Busy != want || math.Abs(r.Utilisation()-float64(want)/float64(10*r.Span)) > 1e-9 {
				t.Errorf("busy for %v (%v of the slot time), want %v", r.Busy, r.Utilisation(), want)
			}
			if quiet.Alone.Max != 20*ms && tt.policy == replay.Cap || quiet.Alone.Max != 0 && tt.policy != replay.Cap {
				t.Errorf("alone the quiet tenant waits up to %v", quiet.Alone.Max)
			}
		})
	}
}

// Two tenants of a share of 2 flood a service of 8 slots: the published rule leaves four of them idle, for both wait.
func TestRun_PublishedRuleIdlesWhileTwoFlood(t *testing.T) {
	tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 2})
	trace := append(flood(0, "a", 40, 20*ms), flood(0, "b", 40, 20*ms)...)
	cfg := replay.Config{Capacity: 8, Tiers: tiers, MaxWait: -1}
	cfg.Policy = replay.Published
	if r := run(t, cfg, trace); r.IdleWhileWaiting < 200*ms {
		t.Errorf("the published rule left %v idle, want at least 200ms", r.IdleWhileWaiting)
	}
	cfg.Policy = replay.FairSlots
	if r := run(t, cfg, trace); r.IdleWhileWaiting != 0 || r.Span != 200*ms {
		t.Errorf("fairslots left %v idle and took %v, want none and 200ms", r.IdleWhileWaiting, r.Span)
	}
}

func TestRun_RefusalsByReason(t *testing.T) {
	tiers := tiersOf(t, tenant.Tier{Name: "free", Rate: 1, Burst: 4, Share: 1, Quotas: tenant.Quotas{Day: 6}},
		tenant.Tier{Name: "pro", Rate: tenant.Unlimited, Share: 1})
	for _, tt := range []struct {
		name  string
		cfg   replay.Config
		trace []replay.Request
		want  map[tenant.Reason]int
		lost  int
	}{
		{"its bucket is short", replay.Config{}, flood(0, "a", 6, 0), map[tenant.Reason]int{tenant.ReasonTenant: 2}, 0},
		{"its day is used up", replay.Config{}, append(flood(0, "a", 4, 0), flood(10*time.Second, "a", 3, 0)...),
			map[tenant.Reason]int{tenant.ReasonWindow: 1}, 0},
		{"beyond its plan", replay.Config{Costs: quota.Costs{"": 5}}, flood(0, "a", 1, 0), map[tenant.Reason]int{tenant.ReasonPlan: 1}, 0},
		{"the others used up the cluster's bucket", replay.Config{Global: quota.Rate{PerSecond: 1, Burst: 5}},
			append(flood(0, "a", 4, 0), flood(0, "b", 3, 0)...), map[tenant.Reason]int{tenant.ReasonGlobal: 2}, 2},
		{"its queue is full", replay.Config{MaxQueue: 1}, flood(0, "a", 3, ms), map[tenant.Reason]int{tenant.ReasonShare: 1}, 0},
		{"the others have the slots", replay.Config{MaxQueue: -1, Policy: replay.FairSlots},
			append(flood(0, "a", 2, 20*ms), flood(10*ms, "b", 1, ms)...), map[tenant.Reason]int{tenant.ReasonCapacity: 1}, 1},
		{"what the others cost it goes back", replay.Config{MaxQueue: -1, Policy: replay.FairSlots},
			append(flood(0, "a", 2, 20*ms), append(flood(10*ms, "b", 9, ms), flood(20*ms, "b", 2, ms)...)...),
			map[tenant.Reason]int{tenant.ReasonCapacity: 9}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Tiers, tt.cfg.Capacity = tiers, 2
			if tt.cfg.MaxQueue > 0 || tt.cfg.MaxQueue == 0 && tt.cfg.Policy == 0 {
				tt.cfg.Policy = replay.Cap
			}
			r := run(t, tt.cfg, tt.trace)
			got := map[tenant.Reason]int{}
			for i, n := range r.All.Refused {
				if n > 0 {
					got[replay.Reasons()[i]] = n
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("refusals, want -, got +:\n%s", diff)
			}
			if r.All.Lost != tt.lost {
				t.Errorf("%d were lost to others, want %d", r.All.Lost, tt.lost)
			}
		})
	}
}

// Whoever waits for as long as it may, to the instant, gets the slot that comes free then.
func TestRun_BoundsOfWaits(t *testing.T) {
	tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 1})
	three := append(flood(0, "a", 2, 50*ms), flood(0, "b", 1, 50*ms)...)
	for _, tt := range []struct {
		name          string
		cfg           replay.Config
		trace         []replay.Request
		served, share int // the rest is refused for capacity
	}{
		{"one queue, a wait of just as long", replay.Config{MaxWait: 50 * ms}, three, 2, 0},
		{"one queue, a little less", replay.Config{MaxWait: 50*ms - 1}, three, 1, 0},
		{"one queue knows no tenants", replay.Config{MaxQueue: -1, MaxWaiting: 2}, three, 3, 0},
		{"one queue is full", replay.Config{MaxWaiting: 1}, three, 2, 0},
		{"published, just as long", replay.Config{Policy: replay.Published, MaxWait: 50 * ms}, three, 2, 0},
		{"published, a little less", replay.Config{Policy: replay.Published, MaxWait: 50*ms - 1}, three, 1, 1},
		{"published, the queue of all is full", replay.Config{Policy: replay.Published, MaxWaiting: 1}, three, 2, 0},
		{"published, its own queue is full", replay.Config{Policy: replay.Published, MaxQueue: 1}, flood(0, "a", 3, ms), 2, 1},
		{"published, who gives up makes room", replay.Config{Policy: replay.Published, Capacity: 2, MaxWait: 50 * ms}, []replay.Request{
			{Tenant: "a", Duration: time.Second}, {At: 10 * ms, Tenant: "b", Duration: 45 * ms},
			{At: 20 * ms, Tenant: "b", Duration: ms}, {At: 30 * ms, Tenant: "a", Duration: ms},
		}, 4, 0},
		{"published, both at their shares", replay.Config{Policy: replay.Published, Capacity: 3, MaxWait: 50 * ms}, []replay.Request{
			{Tenant: "a", Duration: time.Second}, {Tenant: "b", Duration: time.Second}, {Tenant: "c", Duration: 5 * ms},
			{Tenant: "a", Duration: ms}, {At: ms, Tenant: "b", Duration: ms},
		}, 4, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Tiers, tt.cfg.Capacity = tiers, max(tt.cfg.Capacity, 1)
			g := run(t, tt.cfg, tt.trace).All
			share := g.Refused[slices.Index(replay.Reasons(), tenant.ReasonShare)]
			capacity := g.Refused[slices.Index(replay.Reasons(), tenant.ReasonCapacity)]
			if g.Served != tt.served || share != tt.share || capacity != len(tt.trace)-tt.served-tt.share {
				t.Errorf("%d served, %d refused for share, %d for capacity; want %d and %d of %d",
					g.Served, share, capacity, tt.served, tt.share, len(tt.trace))
			}
		})
	}
}

// A tenant alone is refused what outlasts MaxWait, to the instant.
func TestRun_AloneIsBoundToo(t *testing.T) {
	tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 1})
	for maxWait, want := range map[time.Duration]int{50 * ms: 2, 50*ms - 1: 1} {
		trace := append(flood(0, "a", 2, 50*ms), flood(0, "b", 2, 50*ms)...)
		r := run(t, replay.Config{Policy: replay.FairSlots, Capacity: 1, Tiers: tiers, MaxWait: maxWait}, trace)
		if alone := r.All.Served + r.All.Lost; alone != 2*want {
			t.Errorf("MaxWait %v: %d would be served alone, want %d", maxWait, alone, 2*want)
		}
	}
}

func TestRun_GroupsAndTracks(t *testing.T) {
	tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 1}, tenant.Tier{Name: "pro", Share: 2})
	var trace []replay.Request
	for i := range 11 {
		tier := []string{"std", "pro"}[min(i%3, 1)]
		trace = append(trace, replay.Request{Tenant: fmt.Sprint("t", i), Tier: tier, Duration: time.Duration(20-i) * ms})
	}
	trace = append(trace, replay.Request{At: time.Second, Tenant: "t0", Duration: 5 * ms}) // its tier is known
	r := run(t, replay.Config{Policy: replay.FairSlots, Capacity: 1, Tiers: tiers, Top: 3, Steps: 10}, trace)
	if len(r.Tenants) != 3 || r.Tenants[0].Name != "t10" || r.Tenants[0].Wait.Max != 155*ms {
		t.Errorf("the worst tenants are %+v, want t10 first, which waited 155ms", r.Tenants)
	}
	if len(r.Tiers) != 2 || r.Tiers[0].Name != "pro" || r.Tiers[0].Tenants != 7 || r.Tiers[1].Tenants != 4 || r.All.Tenants != 11 {
		t.Errorf("the tiers are %+v, want pro with seven tenants and std with four", r.Tiers)
	}
	tracks := r.Series.Tenants
	if len(tracks) != 9 || tracks[0].Tenant != "t0" || tracks[7].Tenant != "t7" || tracks[8].Tenant != "" {
		t.Fatalf("tracks %+v, want t0 to t7 and one for the others", tracks)
	}
	var others time.Duration
	for _, busy := range tracks[8].Busy {
		others += busy
	}
	if others != 33*ms || tracks[8].LongestWait[0] != 155*ms {
		t.Errorf("the others were busy for %v and waited up to %v, want 33ms and 155ms", others, tracks[8].LongestWait[0])
	}
}

func TestRun_SameTraceSameReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := drawTrace(t, 3)
		cfg := drawConfig(t)
		if diff := cmp.Diff(mustRun(t, cfg, trace), mustRun(t, cfg, trace)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestRun_AccountsForEveryRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := drawTrace(t, 4)
		cfg := drawConfig(t)
		cfg.Steps, cfg.Top = 7, 100
		r := mustRun(t, cfg, trace)
		var busy, series, longest time.Duration
		for _, track := range r.Series.Tenants {
			longest = max(longest, slices.Max(track.LongestWait))
			for _, b := range track.Busy {
				series += b
			}
		}
		if longest != r.All.Wait.Max {
			t.Fatalf("the longest wait of the series is %v, of all %v", longest, r.All.Wait.Max)
		}
		requests := 0
		for _, g := range r.Tenants {
			refused := 0
			for _, n := range g.Refused {
				refused += n
			}
			if g.Requests != g.Served+refused {
				t.Fatalf("%s: %d served and %d refused of %d", g.Name, g.Served, refused, g.Requests)
			}
			if g.Wait.P50 > g.Wait.P99 || g.Wait.P99 > g.Wait.Max {
				t.Fatalf("%s: waits %+v", g.Name, g.Wait)
			}
			requests += g.Requests
			busy += g.Busy
		}
		if requests != len(trace) || r.All.Requests != len(trace) {
			t.Fatalf("the tenants sent %d, all %d, of %d", requests, r.All.Requests, len(trace))
		}
		if busy != r.Busy || series != r.Busy || r.All.Busy != r.Busy {
			t.Fatalf("busy for %v: the tenants say %v, the series %v", r.Busy, busy, series)
		}
		if cfg.Policy != replay.Cap && cfg.Policy != replay.Published && cfg.Tiers.All()[0].Ceiling == 0 && r.IdleWhileWaiting > 0 {
			t.Fatalf("%v idle while somebody waited", r.IdleWhileWaiting)
		}
	})
}

// Who is alone suffers nothing, whatever the policy.
func TestRun_AloneIsTogetherForOneTenant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := drawTrace(t, 1)
		cfg := drawConfig(t)
		r := mustRun(t, cfg, trace)
		if g := r.All; g.Suffered != 0 || g.Lost != 0 || g.Wait != g.Alone {
			t.Fatalf("suffered %v, lost %d, waited %+v, alone %+v", g.Suffered, g.Lost, g.Wait, g.Alone)
		}
	})
}

func TestRun_ErrorsNameWhatIsWrong(t *testing.T) {
	tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 1})
	r, err := replay.New(replay.Config{Capacity: 1, Tiers: tiers})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		want string
		replay.Request
	}{
		{"", replay.Request{At: 5, Tenant: "a"}},
		{"At is 4ns, want 5ns to", replay.Request{At: 4, Tenant: "a"}},
		{"At is 2562047h47m16.854775807s", replay.Request{At: math.MaxInt64, Tenant: "a"}},
		{"Duration is -1ns", replay.Request{At: 5, Tenant: "a", Duration: -1}},
		{"invalid tenant ID", replay.Request{At: 5, Tenant: "a b"}},
		{`there is no tier "gold"`, replay.Request{At: 5, Tenant: "a", Tier: "gold"}},
	} {
		if err := r.Add(q.Request); (err == nil) != (q.want == "") || err != nil && !strings.Contains(err.Error(), q.want) {
			t.Errorf("%+v: %v, want %q", q.Request, err, q.want)
		}
	}
	if got := r.Finish().All.Requests; got != 1 {
		t.Errorf("%d requests were replayed, want the one without fault", got)
	}
	bare, err := tenant.NewTiers("bare", tenant.Tier{Name: "bare", Rate: tenant.Unlimited})
	if err != nil {
		t.Fatal(err)
	}
	_, err = replay.New(replay.Config{Policy: 9, Tiers: bare, Top: -1})
	for _, want := range []string{"Policy is Policy(9)", "Capacity is 0", "tier bare: Share is 0", "Top is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
	if _, err := replay.ParsePolicy("fair"); err == nil || !strings.Contains(err.Error(), `"fair"`) {
		t.Errorf("ParsePolicy: %v", err)
	}
}
