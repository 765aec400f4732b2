package quota_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestNew_NamesEveryFault(t *testing.T) {
	good, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 1, Burst: 1})
	must(t, err)
	burstless, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 1},
		tenant.Tier{Name: "open", Rate: tenant.Unlimited}, tenant.Tier{Name: "trial"})
	must(t, err)
	cluster := quota.Rate{PerSecond: 1, Burst: 5}
	for _, tt := range []struct {
		name string
		cfg  quota.Config
		want []string // parts of the error; none: no error
	}{
		{"good", quota.Config{Tiers: good}, nil},
		{"no tiers", quota.Config{}, []string{"quota: Tiers is nil"}},
		{"burst 0", quota.Config{Tiers: burstless}, []string{"tier free: Burst is 0", "tier trial: Burst is 0"}},
		{"negative cost", quota.Config{Tiers: good, Costs: quota.Costs{"GET /x": -1}}, []string{"quota: Costs[GET /x] is -1, want 0 to"}},
		{"cost too large", quota.Config{Tiers: good, Costs: quota.Costs{"GET /x": math.MaxInt64}}, []string{"Costs[GET /x] is 9223372036854775807"}},
		{"cost above the cluster's burst",
			quota.Config{Tiers: good, Costs: quota.Costs{"a": 6, "b": 5, "default": 7}, Global: quota.Rate{PerSecond: 1, Burst: 5}},
			[]string{"Costs[a] is 6, want at most Global.Burst, 5", "Costs[default] is 7"}},
		{"cluster without burst", quota.Config{Tiers: good, Global: quota.Rate{PerSecond: 1}}, []string{"Global.Burst is 0"}},
		{"cluster without rate", quota.Config{Tiers: good, Global: quota.Rate{Burst: 1}}, []string{"Global.PerSecond is 0"}},
		{"cluster NaN", quota.Config{Tiers: good, Global: quota.Rate{PerSecond: math.NaN(), Burst: 1}}, []string{"Global.PerSecond is NaN"}},
		{"cluster infinite", quota.Config{Tiers: good, Global: quota.Rate{PerSecond: math.Inf(1), Burst: 1}}, []string{"Global.PerSecond is +Inf"}},
		{"cluster negative", quota.Config{Tiers: good, Global: quota.Rate{PerSecond: -1, Burst: -1}},
			[]string{"Global.PerSecond is -1", "Global.Burst is -1"}},
		{"cluster burst too large", quota.Config{Tiers: good, Global: quota.Rate{PerSecond: 1, Burst: math.MaxInt64}}, []string{"Global.Burst is"}},
		{"cluster unlimited", quota.Config{Tiers: good, Global: quota.Rate{PerSecond: tenant.Unlimited}, Costs: quota.Costs{"a": 9}}, nil},
		{"reserve", quota.Config{Tiers: good, Global: cluster, GlobalReserve: 0.99, Costs: quota.Costs{"a": 5}}, nil},
		{"reserve negative", quota.Config{Tiers: good, Global: cluster, GlobalReserve: -0.1},
			[]string{"quota: GlobalReserve is -0.1, want 0 or more, and less than 1"}},
		{"reserve of all", quota.Config{Tiers: good, Global: cluster, GlobalReserve: 1}, []string{"GlobalReserve is 1,"}},
		{"reserve NaN", quota.Config{Tiers: good, Global: cluster, GlobalReserve: math.NaN()}, []string{"GlobalReserve is NaN"}},
		{"reserve NaN without cluster", quota.Config{Tiers: good, GlobalReserve: math.NaN()}, []string{"GlobalReserve is NaN"}},
		{"reserve of no cluster", quota.Config{Tiers: good, GlobalReserve: 0.1}, []string{"quota: GlobalReserve is 0.1, want 0 where there is no Global"}},
		{"reserve of an unlimited cluster",
			quota.Config{Tiers: good, Global: quota.Rate{PerSecond: tenant.Unlimited, Burst: 5}, GlobalReserve: 0.1}, []string{"GlobalReserve is 0.1"}},
		{"several", quota.Config{Costs: quota.Costs{"a": -1}, Global: quota.Rate{Burst: 1}},
			[]string{"Tiers is nil", "Costs[a] is -1", "Global.PerSecond is 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := quota.New(tt.cfg)
			if len(tt.want) == 0 {
				if err != nil {
					t.Fatalf("New: %v, want no error", err)
				}
				l.Close()
				return
			}
			if err == nil {
				t.Fatalf("New: no error, want %q", tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("New: error %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestNew_KeepsItsOwnCosts(t *testing.T) {
	costs := quota.Costs{"GET /": 2}
	f := newFixture(t, quota.Config{Costs: costs}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
	costs["GET /"] = 5
	if d := f.mustTake("free", "GET /"); d.Cost != 2 {
		t.Errorf("cost %d, want 2", d.Cost)
	}
}

func TestNew_UnlimitedClusterIsNone(t *testing.T) {
	f := newFixture(t, quota.Config{Global: quota.Rate{PerSecond: tenant.Unlimited, Burst: 1}}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
	for range 10 {
		f.mustTake("free", "GET /")
	}
}
