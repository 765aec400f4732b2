//go:build !race

package quota_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Under the race detector a sync.Pool forgets at random.
func TestLimiter_TakeDoesNotAllocate(t *testing.T) {
	for name, store := range map[string]quota.Store{"own store": nil, "given store": quota.NewMemory(nil)} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, quota.Config{Store: store, Global: quota.Rate{PerSecond: 1e9, Burst: 1e9}, GlobalReserve: 0.1},
				tenant.Tier{Name: "free", Rate: 1e9, Burst: 1e9, Quotas: tenant.Quotas{Month: 1e12}})
			ctx, who := t.Context(), tenant.Tenant{ID: "acme", Tier: "free"}
			allocs := testing.AllocsPerRun(1000, func() {
				if d, err := f.Take(ctx, who, "GET /"); err != nil || !d.Allowed {
					t.Fatal(d, err)
				}
			})
			if allocs > 0 {
				t.Errorf("%v allocations a Take, want none", allocs)
			}
		})
	}
}
