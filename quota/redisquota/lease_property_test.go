package redisquota_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Whatever replicas take, lease, return, lose and refund: over any interval no more is admitted than the burst and the
// rate, of each tenant and of all together, and no window's quota is exceeded; and what Redis counted is what was
// admitted, and what crashed replicas had leased at most.
func TestLease_NeverAdmitsMoreThanTheLimits(t *testing.T) {
	t.Parallel()
	testNeverMore(t, oneServer(t))
}

func TestLease_NeverAdmitsMoreThanTheLimitsInACluster(t *testing.T) {
	t.Parallel()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: redistest.StartCluster(t, 3).Addrs()})
	t.Cleanup(func() { client.Close() })
	testNeverMore(t, client)
}

func testNeverMore(t *testing.T, client redis.UniversalClient) {
	rapid.Check(t, func(rt *rapid.T) {
		tier := tenant.Tier{
			Name: "pro", Rate: rapid.Float64Range(1, 400).Draw(rt, "rate"), Burst: rapid.IntRange(16, 300).Draw(rt, "burst"),
			Quotas: tenant.Quotas{Minute: int64(rapid.IntRange(200, 2000).Draw(rt, "quota"))},
		}
		global := quota.Rate{PerSecond: rapid.Float64Range(50, 500).Draw(rt, "cluster"), Burst: rapid.IntRange(50, 500).Draw(rt, "cluster burst")}
		f := newFleet(t, client, rapid.IntRange(1, 3).Draw(rt, "replicas"), global, tier)
		f.now.Store(time.Date(2026, 3, 5, 10, 20, 57, 0, time.UTC).UnixNano())
		replicas := []member{f.start(), f.start(), f.start()}
		bounds := map[string]*bound{"": {rate: global.PerSecond, burst: float64(global.Burst)}}
		admitted, lost := map[string]int64{}, 0
		minute := f.now.Load() / int64(time.Minute)
		for range rapid.IntRange(50, 400).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "replica")
			switch rapid.IntRange(0, 40).Draw(rt, "what") {
			case 0:
				if err := replicas[i].store.Close(); err != nil {
					rt.Fatal(err)
				}
				replicas[i] = f.start()
			case 1:
				replicas[i] = f.start() // the old one crashed, with what it had leased
				lost++
			case 2, 3, 4:
				f.advance(time.Duration(rapid.IntRange(1, 1200).Draw(rt, "ms")) * time.Millisecond)
				if now := f.now.Load() / int64(time.Minute); now != minute {
					clear(admitted)
					minute, lost = now, 0
				}
			default:
				id := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "tenant")
				for range rapid.IntRange(1, 20).Draw(rt, "calls") {
					if !f.take(replicas[i], id).Allowed {
						break
					}
					admitted[id]++
					if bounds[id] == nil {
						bounds[id] = &bound{rate: tier.Rate, burst: float64(tier.Burst)}
					}
					bounds[id].admit(rt, id, f.now.Load())
					bounds[""].admit(rt, "all", f.now.Load())
					if admitted[id] > tier.Quotas.Minute {
						rt.Fatalf("%s: admitted %d of a quota of %d", id, admitted[id], tier.Quotas.Minute)
					}
				}
			}
		}
		for _, r := range replicas {
			if err := r.store.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		most := int64(lost * tier.Burst / (2 * f.cfg.Replicas))
		for id, n := range admitted {
			if used := f.used(f.start(), id); used < n || used > n+most {
				rt.Errorf("%s: used %d, want the %d admitted and at most %d more, leased by %d crashed replicas", id, used, n, most, lost)
			}
		}
	})
}

// bound is the naive model: a bucket from which all that is admitted has to come.
type bound struct {
	rate, burst float64
	spent       float64 // of the burst
	at          int64
}

func (b *bound) admit(t *rapid.T, who string, now int64) {
	b.spent = max(0, b.spent-b.rate*float64(now-b.at)/1e9) + 1
	b.at = now
	if b.spent > b.burst+1e-6 {
		t.Fatalf("%s: admitted more than a burst of %v and %v a second allow", who, b.burst, b.rate)
	}
}

// The same in real time, with everything at once.
func TestLease_ManyAtOnceNeverExceedTheLimit(t *testing.T) {
	t.Parallel()
	client := oneServer(t)
	f := newFleet(t, client, 2, quota.Rate{}, tenant.Tier{Name: "still", Rate: 0, Burst: 5000})
	var admitted, leased atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		store, err := redisquota.New(client, f.cfg)
		if err != nil {
			t.Fatal(err)
		}
		limiter, err := quota.New(quota.Config{Tiers: f.tiers, Store: store})
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				for range 400 {
					if f.take(member{limiter, store}, "acme").Allowed {
						admitted.Add(1)
					}
				}
			})
		}
		wg.Go(func() {
			callers.Wait()
			leased.Add(int64(store.Stats().Leased))
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if leased.Load() == 0 {
		t.Error("nothing was decided from a lease")
	}
	left := f.start()
	for f.take(left, "acme").Allowed {
		admitted.Add(1)
	}
	if got := admitted.Load(); got != 5000 {
		t.Errorf("admitted %d of a burst of 5000", got)
	}
}
