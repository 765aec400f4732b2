package replay_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/internal/replay"
	"github.com/tenantgate/tenantgate/tenant"
)

func tiersOf(t testing.TB, tiers ...tenant.Tier) *tenant.Tiers {
	t.Helper()
	for i := range tiers {
		if tiers[i].Rate == 0 {
			tiers[i].Rate = tenant.Unlimited
		}
	}
	ts, err := tenant.NewTiers(tiers[0].Name, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// run replays a trace.
func run(t testing.TB, cfg replay.Config, trace []replay.Request) *replay.Report {
	t.Helper()
	return mustRun(t, cfg, trace)
}

func mustRun(t interface{ Fatal(...any) }, cfg replay.Config, trace []replay.Request) *replay.Report {
	r, err := replay.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range trace {
		if err := r.Add(q); err != nil {
			t.Fatal(err)
		}
	}
	return r.Finish()
}

// flood is n requests of a tenant at one instant.
func flood(at time.Duration, id string, n int, held time.Duration) (trace []replay.Request) {
	for range n {
		trace = append(trace, replay.Request{At: at, Tenant: id, Duration: held})
	}
	return trace
}

func drawTrace(t *rapid.T, tenants int) (trace []replay.Request) {
	at := time.Duration(0)
	for range rapid.IntRange(0, 200).Draw(t, "requests") {
		at += rapid.SampledFrom([]time.Duration{0, 0, 1, ms, 20 * ms, 300 * ms, 11 * time.Second}).Draw(t, "later")
		id := fmt.Sprint("t", rapid.IntRange(1, tenants).Draw(t, "tenant"))
		held := rapid.SampledFrom([]time.Duration{0, ms, 20 * ms, 700 * ms}).Draw(t, "duration")
		trace = append(trace, flood(at, id, rapid.SampledFrom([]int{1, 1, 1, 9}).Draw(t, "burst"), held)...)
	}
	return trace
}

func drawConfig(t *rapid.T) replay.Config {
	tier := tenant.Tier{Name: "std", Share: rapid.IntRange(1, 4).Draw(t, "share"), Rate: tenant.Unlimited}
	if rapid.Bool().Draw(t, "ceiling") {
		tier.Ceiling = tier.Share + 1
	}
	if rapid.Bool().Draw(t, "limited") {
		tier.Rate, tier.Burst = 3, 20
	}
	tiers, err := tenant.NewTiers("std", tier)
	if err != nil {
		t.Fatal(err)
	}
	return replay.Config{
		Policy:     rapid.SampledFrom(replay.Policies()).Draw(t, "policy"),
		Capacity:   rapid.IntRange(1, 6).Draw(t, "capacity"),
		Tiers:      tiers,
		MaxQueue:   rapid.SampledFrom([]int{0, 3, -1}).Draw(t, "maxQueue"),
		MaxWaiting: rapid.SampledFrom([]int{0, 2, -1}).Draw(t, "maxWaiting"),
		MaxWait:    rapid.SampledFrom([]time.Duration{0, 50 * ms, -1}).Draw(t, "maxWait"),
	}
}
