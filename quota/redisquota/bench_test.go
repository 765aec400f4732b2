package redisquota_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

func BenchmarkTake(b *testing.B) {
	b.Run("each asked for", func(b *testing.B) { benchmarkTake(b, redisquota.Config{}) })
	b.Run("leased", func(b *testing.B) { benchmarkTake(b, redisquota.Config{Leases: true, Replicas: 4}) })
}

func benchmarkTake(b *testing.B, cfg redisquota.Config) {
	server := redistest.Start(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	b.Cleanup(func() { client.Close() })
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 1e6, Burst: 1e9, Quotas: tenant.Quotas{Day: 1e12}})
	if err != nil {
		b.Fatal(err)
	}
	tenants := make([]tenant.Tenant, 1000)
	for i := range tenants {
		tenants[i] = tenant.Tenant{ID: fmt.Sprintf("tenant-%d", i), Tier: "free"}
	}
	cfg.Timeout, cfg.OnFailure = strict.Timeout, redisquota.Closed
	store := newStore(b, client, cfg)
	limiter, err := quota.New(quota.Config{Tiers: tiers, Global: quota.Rate{PerSecond: 1e9, Burst: 1e12}, Store: store})
	if err != nil {
		b.Fatal(err)
	}
	var callers atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		i := int(callers.Add(1)) * 15
		for pb.Next() {
			i++
			d, err := limiter.Take(b.Context(), tenants[i%len(tenants)], "GET /")
			if err != nil || !d.Allowed {
				b.Errorf("%+v, %v", d, err)
				return
			}
		}
	})
	stats := store.Stats()
	info := client.Info(b.Context(), "commandstats").Val()
	for _, line := range strings.Split(info, "\r\n") {
		var calls, usec float64
		if n, _ := fmt.Sscanf(line, "cmdstat_evalsha:calls=%f,usec=%f", &calls, &usec); n == 2 {
			b.ReportMetric(usec*1000/float64(stats.Decisions), "server-ns/op")
		}
	}
	b.ReportMetric(float64(stats.Calls)/float64(stats.Decisions), "calls/op")
}
