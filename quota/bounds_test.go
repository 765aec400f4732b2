package quota_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Two limiters of which one sweeps whenever it can and the other never does answer the same.
func TestMemory_SweepingCannotBeNoticed(t *testing.T) {
	rapid.Check(t, cannotBeNoticed((*quota.Memory).Sweep))
}

func cannotBeNoticed(sweep func(*quota.Memory)) func(*rapid.T) {
	return func(t *rapid.T) {
		catalogue := []tenant.Tier{drawTier(t, "free"), drawTier(t, "pro")}
		now := &clock{now: time.Date(2026, 1, 31, 23, 59, 50, 0, time.UTC)}
		reserve := rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "reserve")
		var pair [2]*quota.Limiter
		for i := range pair {
			tiers, err := tenant.NewTiers("free", catalogue...)
			if err != nil {
				t.Fatal(err)
			}
			l, err := quota.New(quota.Config{
				Tiers: tiers, Now: now.Now, Costs: quota.Costs{"1": 1, "5": 5},
				Global: quota.Rate{PerSecond: 3, Burst: 9}, GlobalReserve: reserve,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			pair[i] = l
		}
		var admitted [2][]quota.Decision
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now.Advance(time.Duration(rapid.Int64Range(-int64(time.Second), int64(20*time.Second)).Draw(t, "passes")))
			sweep(pair[0].Memory())
			pair[1].Memory().Keep()
			which := rapid.IntRange(0, 4).Draw(t, "tenant")
			who := tenant.Tenant{ID: fmt.Sprintf("tenant-%d", which), Tier: []string{"free", "pro"}[which%2]}
			operation := rapid.SampledFrom([]string{"1", "5"}).Draw(t, "operation")
			refund := len(admitted[0]) > 0 && rapid.IntRange(0, 3).Draw(t, "refund") == 0
			oldest := 0
			if refund {
				oldest = rapid.IntRange(0, len(admitted[0])-1).Draw(t, "of")
			}
			var got [2]quota.Decision
			for i, l := range pair {
				if refund {
					if err := l.Refund(context.Background(), &admitted[i][oldest]); err != nil {
						t.Fatal(err)
					}
				}
				d, err := l.Take(context.Background(), who, operation)
				if err != nil {
					t.Fatal(err)
				}
				if d.Allowed {
					admitted[i] = append(admitted[i], d)
				}
				got[i] = d
			}
			if diff := cmp.Diff(got[1], got[0], ignoreUnexported); diff != "" {
				t.Fatalf("%v %s (-never swept +swept):\n%s", who, operation, diff)
			}
		}
	}
}

// Over any interval, however it is chosen, no more is admitted than the burst and what the rate gives in that time.
func TestLimiter_NoIntervalAdmitsMoreThanBurstAndRate(t *testing.T) {
	rapid.Check(t, noIntervalAdmitsMore(func(s quota.Store) quota.Store { return s }))
}

func noIntervalAdmitsMore(wrap func(quota.Store) quota.Store) func(*rapid.T) {
	return func(t *rapid.T) {
		rate := rapid.Float64Range(0.1, 100).Draw(t, "rate")
		burst := rapid.IntRange(1, 20).Draw(t, "burst")
		tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: rate, Burst: burst})
		if err != nil {
			t.Fatal(err)
		}
		now := &clock{now: noon}
		l, err := quota.New(quota.Config{Tiers: tiers, Store: wrap(quota.NewMemory(now.Now)), Costs: quota.Costs{"1": 1, "3": 3}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		type admission struct {
			at   time.Time
			cost int
		}
		var admitted []admission
		seen := now.Now() // the latest that the clock showed: by that time passes
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			d, err := l.Take(context.Background(), tenant.Tenant{ID: "acme"}, rapid.SampledFrom([]string{"1", "3"}).Draw(t, "operation"))
			if err != nil {
				t.Fatal(err)
			}
			if d.Allowed {
				admitted = append(admitted, admission{seen, d.Cost})
			}
			step := rapid.Int64Range(-int64(5*time.Millisecond), int64(200*time.Millisecond)).Draw(t, "step")
			if !d.Allowed && d.RetryAfter != quota.Never && rapid.Bool().Draw(t, "wait") {
				step = int64(d.RetryAfter)
			}
			if now.Advance(time.Duration(step)); now.Now().After(seen) {
				seen = now.Now()
			}
		}
		for i, first := range admitted {
			sum := 0
			for _, a := range admitted[i:] {
				sum += a.cost
				if most := float64(burst) + rate*a.at.Sub(first.at).Seconds(); float64(sum) > most+1e-9*most {
					t.Fatalf("%d admitted from %v to %v, want at most %v", sum, first.at, a.at, most)
				}
			}
		}
	}
}
