package redisquota_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// slow has a bucket of 100 that does not refill while a test runs.
var slow = tenant.Tier{Name: "free", Rate: 0.001, Burst: 100}

// cutOff returns a replica whose server is dead, and known to be.
func cutOff(t *testing.T, cfg redisquota.Config, limits quota.Config) (*replica, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	r := newReplica(t, clientOf(t, server), cfg, limits)
	server.Kill()
	r.awaitAlone("nobody")
	return r, server
}

// admitted returns how many of so many requests pass.
func (r *replica) admitted(id, operation string, requests int) int {
	n := 0
	for range requests {
		if r.takeFor(id, operation).Allowed {
			n++
		}
	}
	return n
}

func TestBreaker_AsksNothingOfAServerThatIsDead(t *testing.T) {
	t.Parallel()
	for _, policy := range []redisquota.Policy{redisquota.Local, redisquota.Closed, redisquota.Open} {
		r, _ := cutOff(t, redisquota.Config{OnFailure: policy}, quota.Config{})
		begin, before := time.Now(), r.store.Stats()
		const decisions = 10_000
		for range decisions {
			r.take("acme")
		}
		after := r.store.Stats()
		probes := uint64(time.Since(begin)/(250*time.Millisecond)) + 1
		if after.Decisions-before.Decisions != decisions || after.Calls-before.Calls > probes {
			t.Errorf("%v: %d decisions, %d calls; want %d, and but for at most %d probes no call",
				policy, after.Decisions-before.Decisions, after.Calls-before.Calls, decisions, probes)
		}
	}
}

func TestLocal_HasItsPartOfEachLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		tier   tenant.Tier
		global quota.Rate
		costs  quota.Costs
		want   int
	}{
		{"burst", slow, quota.Rate{}, nil, 25},
		{"burst below the largest cost", slow, quota.Rate{}, quota.Costs{"report": 60}, 60},
		{"a cost that never fits does not count", slow, quota.Rate{}, quota.Costs{"report": 160}, 25},
		{"burst smaller than the fleet", tenant.Tier{Name: "free", Rate: 0.001, Burst: 3}, quota.Rate{}, nil, 1},
		{"shared bucket", slow, quota.Rate{PerSecond: 0.001, Burst: 40}, nil, 10},
		{"calendar quota is whole", tenant.Tier{Name: "free", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Month: 70}}, quota.Rate{}, nil, 70},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := cutOff(t, redisquota.Config{Replicas: 4}, quota.Config{
				Tiers: catalogue(t, tenant.Tier{Name: "probe", Rate: tenant.Unlimited}, tt.tier), Global: tt.global, Costs: tt.costs,
			})
			_ = r.Tiers().Assign("acme", tt.tier.Name)
			// What awaitAlone took of the shared bucket, it took of "nobody"'s limits too: none but that bucket is shared.
			want := tt.want
			if tt.global.Burst > 0 {
				want -= int(r.store.Stats().Alone)
			}
			if got := r.admitted("acme", "", 200); got != want {
				t.Errorf("got %d of 200, want %d", got, want)
			}
		})
	}
}

func TestLocal_PlanIsJudgedByTheWholeTier(t *testing.T) {
	t.Parallel()
	r, _ := cutOff(t, redisquota.Config{Replicas: 4}, quota.Config{
		Tiers: catalogue(t, slow), Costs: quota.Costs{"report": 60, "export": 101},
	})
	for _, tt := range []struct {
		operation string
		want      tenant.Reason
	}{
		{"export", tenant.ReasonPlan},   // more than the burst
		{"report", tenant.ReasonNone},   // more than a quarter of it
		{"report", tenant.ReasonTenant}, // now it is empty
	} {
		if d := r.takeFor("acme", tt.operation); d.Reason != tt.want {
			t.Errorf("%s: got %+v, want reason %q", tt.operation, d, tt.want)
		}
	}
}

func TestLocal_KnowsTheTierThatIsAssignedInRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	tiers := catalogue(t, slow, tenant.Tier{Name: "pro", Rate: 0.001, Burst: 500})
	r := newReplica(t, clientOf(t, server), redisquota.Config{Replicas: 4}, quota.Config{Tiers: tiers})
	other := r.sibling(redisquota.Config{}, quota.Config{Tiers: catalogue(t, slow, tenant.Tier{Name: "pro", Rate: 0.001, Burst: 500})})
	if err := other.SetTier(t.Context(), "acme", "pro"); err != nil {
		t.Fatal(err)
	}
	r.mustShare("acme")
	server.Kill()
	r.awaitAlone("nobody")
	if d := r.take("acme"); d.Tier != "pro" || !d.Allowed {
		t.Errorf("got %+v, want one on the tier that was assigned", d)
	}
	if got := r.admitted("acme", "", 500); got != 124 {
		t.Errorf("got %d of 500 more, want 124: a quarter of that tier's burst", got)
	}
}

func TestRefund_OfALocalDecisionStaysLocal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	tier := tenant.Tier{Name: "free", Rate: 0.001, Burst: 100, Quotas: tenant.Quotas{Month: 1000}}
	r := newReplica(t, clientOf(t, server), redisquota.Config{Timeout: time.Second}, quota.Config{
		Tiers: catalogue(t, tier), Costs: quota.Costs{"report": 30},
	})
	if d := r.takeFor("acme", "report"); !d.Allowed || d.Remaining != 70 {
		t.Fatalf("got %+v, want 70 left", d)
	}
	server.Kill()
	r.awaitAlone("nobody")
	kept, given := r.takeFor("acme", "report"), r.takeFor("acme", "report")
	if !kept.Allowed || !given.Allowed {
		t.Fatalf("got %+v and %+v, want both allowed", kept, given)
	}
	if err := r.Refund(t.Context(), &given); err != nil {
		t.Errorf("Refund while Redis is away: %v", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if err := r.Refund(t.Context(), &kept); err != nil {
		t.Errorf("Refund once Redis is back: %v", err)
	}
	r.settle()
	d, err := r.Peek(t.Context(), tenant.Tenant{ID: "acme"}, "")
	if err != nil || d.Remaining != 70 {
		t.Errorf("got %+v, %v, want 70 left: what was taken from Redis's bucket, and no more given back", d, err)
	}
	if used := r.used("acme"); used != 30 {
		t.Errorf("got %d used, want 30: local decisions were refunded", used)
	}
}

func TestPosting_CountsOnceWhatWasServedWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	tier := tenant.Tier{Name: "free", Rate: 1e6, Burst: 1e6, Quotas: tenant.Quotas{Day: 100, Month: 100}}
	r := newReplica(t, clientOf(t, server), redisquota.Config{Timeout: time.Second}, quota.Config{Tiers: catalogue(t, tier)})
	if got := r.admitted("acme", "", 90); got != 90 {
		t.Fatalf("got %d of 90, want all", got)
	}
	server.Kill()
	r.awaitAlone("nobody")
	if got := r.admitted("acme", "", 40); got != 40 {
		t.Errorf("got %d of 40 without Redis, want all: what it has counted is not known here", got)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if used := r.used("acme"); used != 130 {
		t.Errorf("got %d used, want 90 and 40", used)
	}
	if d := r.take("acme"); d.Allowed || d.Reason != tenant.ReasonWindow {
		t.Errorf("got %+v, want it refused: the quota is used up", d)
	}
	if over := r.store.Stats().Overrun; over != 60 {
		t.Errorf("got an overrun of %d units, want 30 of the day and 30 of the month", over)
	}
	for _, policy := range []string{"day", "month"} {
		if found := r.log.with("tenant=acme", "policy="+policy, "limit=100", "used=130", "over=30"); len(found) != 1 {
			t.Errorf("%s: got %q, want one line that says by how much, in %s", policy, found, r.log.with(""))
		}
	}
}

// An outage may last for hours.
// Redis does not know the tier of a tenant that it has not seen: the posting says it.
func TestPosting_IsJudgedByTheTierThatWasAsserted(t *testing.T) {
	t.Parallel()
	r, server := cutOff(t, redisquota.Config{}, quota.Config{Tiers: catalogue(t,
		tenant.Tier{Name: "free", Rate: 1000, Burst: 1000, Quotas: tenant.Quotas{Month: 5}},
		tenant.Tier{Name: "pro", Rate: 1000, Burst: 1000, Quotas: tenant.Quotas{Month: 1000}},
	)})
	pro := tenant.Tenant{ID: "new", Tier: "pro"}
	for range 40 {
		if d, err := r.Take(t.Context(), pro, "GET /"); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the usage in Redis", func() bool {
		all, err := r.Usage(t.Context(), pro)
		return err == nil && len(all) == 1 && all[0].Used == 40
	})
	if overrun := r.store.Stats().Overrun; overrun != 0 {
		t.Errorf("overrun of %d units of a quota of 1000 of which 40 are used", overrun)
	}
}

func TestPosting_WhatIsKeptDoesNotGrowWithTheOutage(t *testing.T) {
	t.Parallel()
	r, _ := cutOff(t, redisquota.Config{}, quota.Config{})
	for range 50 {
		r.take("acme")
		r.take("globex")
		r.store.Post()
	}
	if n := r.store.Unposted(); n > 6 {
		t.Errorf("got %d postings of 3 tenants, want at most one that is added to, and one that was tried, of each", n)
	}
}

func TestClose_CountsWhatWasServedWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newReplica(t, clientOf(t, server), redisquota.Config{Timeout: time.Second}, quota.Config{})
	server.Kill()
	r.awaitAlone("nobody")
	alone := int64(r.admitted("acme", "", 40))
	server.Restart()
	r.awaitShared()
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if used := r.sibling(redisquota.Config{}, quota.Config{}).used("acme"); used != alone {
		t.Errorf("got %d used, want %d", used, alone)
	}
}

func TestClose_SaysThatUsageIsLost(t *testing.T) {
	t.Parallel()
	r, _ := cutOff(t, redisquota.Config{}, quota.Config{})
	r.take("acme")
	if err := r.store.Close(); err == nil || !strings.Contains(err.Error(), "2 tenants") {
		t.Errorf("got %v, want an error that says of how many tenants", err)
	}
	if err := r.store.Close(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	d, err := r.Take(t.Context(), tenant.Tenant{ID: "acme"}, "")
	if err != nil || d.Reason != tenant.ReasonUnavailable {
		t.Errorf("Take of a closed store: got %+v, %v, want %s", d, err, tenant.ReasonUnavailable)
	}
}

// What has no policy says that it could not be done.
func TestStore_ManagementFailsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	r, _ := cutOff(t, redisquota.Config{}, quota.Config{})
	_, usage := r.Usage(t.Context(), tenant.Tenant{ID: "acme"})
	for name, err := range map[string]error{
		"SetTier": r.SetTier(t.Context(), "acme", "free"),
		"Reset":   r.Reset(t.Context(), "acme"),
		"Usage":   usage,
	} {
		if err == nil || errors.Is(err, redisquota.ErrClosed) {
			t.Errorf("%s: got %v, want why", name, err)
		}
	}
}
