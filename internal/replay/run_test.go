package replay_test

import (
	"math"
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
		var busy, series time.Duration
		for _, track := range r.Series.Tenants {
			for _, b := range track.Busy {
				series += b
			}
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
		cfg.MaxWait = -1 // a pool predicts waits, where the replay knows them
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
