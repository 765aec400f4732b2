package quota_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// BenchmarkTake measures one decision: of one tenant that is always allowed, of 100,000 tenants in turn, and of one that
// is always refused; each from one goroutine and from one a core.
func BenchmarkTake(b *testing.B) {
	tiers, err := tenant.NewTiers("open",
		tenant.Tier{Name: "open", Rate: 1e9, Burst: 1e9},
		tenant.Tier{Name: "shut", Rate: 0, Burst: 1})
	if err != nil {
		b.Fatal(err)
	}
	for _, bm := range []struct {
		name    string
		tenants int
		tier    string
	}{
		{"hot", 1, "open"},
		{"tenants=100000", 100_000, "open"},
		{"refusal", 1, "shut"},
	} {
		tenants := make([]tenant.Tenant, bm.tenants)
		for i := range tenants {
			tenants[i] = tenant.Tenant{ID: fmt.Sprintf("tenant-%09d", i), Tier: bm.tier}
		}
		newLimiter := func(b *testing.B) *quota.Limiter {
			l, err := quota.New(quota.Config{Tiers: tiers})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(l.Close)
			for _, t := range tenants {
				if _, err := l.Take(b.Context(), t, "GET /"); err != nil {
					b.Fatal(err)
				}
			}
			return l
		}
		ctx := context.Background()
		b.Run(bm.name, func(b *testing.B) {
			l := newLimiter(b)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := l.Take(ctx, tenants[i], "GET /"); err != nil {
					b.Fatal(err)
				}
				if i++; i == len(tenants) {
					i = 0
				}
			}
		})
		b.Run(bm.name+"_parallel", func(b *testing.B) {
			l := newLimiter(b)
			b.ReportAllocs()
			var goroutines atomic.Int64
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				i := int(goroutines.Add(1)) * 7919 % len(tenants)
				for pb.Next() {
					if _, err := l.Take(ctx, tenants[i], "GET /"); err != nil {
						b.Error(err)
						return
					}
					if i++; i == len(tenants) {
						i = 0
					}
				}
			})
		})
	}
}
