package fairslots_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hold = 20 * time.Millisecond

// newPool returns a pool with a tier for each tenant, called like the tenant.
func newPool(t *testing.T, capacity int, share map[string]int) *fairslots.Pool {
	t.Helper()
	first := ""
	var tiers []tenant.Tier
	for id, n := range share {
		first = id
		tiers = append(tiers, tenant.Tier{Name: id, Share: n})
	}
	catalogue, err := tenant.NewTiers(first, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := fairslots.New(fairslots.Config{
		Capacity: capacity, Tiers: catalogue, MaxQueue: 1 << 20, MaxWaiting: 1 << 20, MaxWait: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// flood keeps n requests of a tenant waiting or running until ctx ends. It returns the slot time they had by then.
func flood(ctx context.Context, p *fairslots.Pool, id string, n int) (slotTime func() time.Duration) {
	var mu sync.Mutex
	var total time.Duration
	var requests sync.WaitGroup
	for range n {
		requests.Go(func() {
			for {
				release, err := p.Acquire(ctx, tenant.Tenant{ID: id, Tier: id})
				if err != nil {
					return
				}
				time.Sleep(hold)
				release()
				mu.Lock()
				total += hold
				mu.Unlock()
			}
		})
	}
	return func() time.Duration {
		requests.Wait()
		return total
	}
}

func inUse(p *fairslots.Pool) map[string]int {
	got := map[string]int{}
	for _, s := range p.Stats().Tenants {
		got[s.ID] = s.InUse
	}
	return got
}

func TestPool_LoneTenantUsesAllAndYieldsWithinOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := newPool(t, 10, map[string]int{"early": 6, "late": 6})
		first := flood(ctx, p, "early", 500)
		time.Sleep(110 * time.Millisecond)
		synctest.Wait()
		if got := inUse(p)["early"]; got != 10 {
			t.Errorf("alone, the early tenant holds %d slots, want all 10", got)
		}
		second := flood(ctx, p, "late", 500)
		time.Sleep(hold)
		synctest.Wait()
		for range 200 {
			if got := inUse(p); got["early"] > 6 || got["early"]+got["late"] != 10 {
				t.Fatalf("in use %v, want at most 6 of the early tenant's and 10 in all", got)
			}
			time.Sleep(hold / 4)
			synctest.Wait()
		}
		stop()
		first()
		second()
	})
}

func TestPool_SlotTimeDividesAsShares(t *testing.T) {
	equal := map[string]int{"big": 20}
	for i := range 20 {
		equal[fmt.Sprint("small", i)] = 1
	}
	for _, tt := range []struct {
		name     string
		capacity int
		share    map[string]int
		want     map[string]float64
	}{
		{"1:3:6 on ten slots", 10, map[string]int{"a": 1, "b": 3, "c": 6}, map[string]float64{"a": .1, "b": .3, "c": .6}},
		{"1:3:6 on three slots", 3, map[string]int{"a": 1, "b": 3, "c": 6}, map[string]float64{"a": .1, "b": .3, "c": .6}},
		{"20 among twenty of 1", 10, equal, map[string]float64{"big": .5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const long = 20 * time.Second
				ctx, stop := context.WithTimeout(t.Context(), long)
				defer stop()
				p := newPool(t, tt.capacity, tt.share)
				slotTime := map[string]func() time.Duration{}
				for id := range tt.share {
					slotTime[id] = flood(ctx, p, id, 3*tt.capacity)
				}
				for id, got := range slotTime {
					part := got().Seconds() / long.Seconds() / float64(tt.capacity)
					if want, ok := tt.want[id]; ok && (part < want-.02 || part > want+.02) {
						t.Errorf("%s got %.3f of the slot time, want %.2f within 0.02", id, part, want)
					}
				}
			})
		})
	}
}

// What a tenant can gain by being forgotten is the credit: after ten idle seconds its next flood gets no more of the
// slots than that of a tenant that was never seen.
func TestPool_ForgottenTenantIsAsANewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 10, map[string]int{"old": 2, "new": 2, "other": 2})
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		flood(ctx, p, "old", 100)()
		ctx, stop = context.WithTimeout(t.Context(), 13*time.Second)
		defer stop()
		other := flood(ctx, p, "other", 100)
		time.Sleep(11 * time.Second)
		if n := len(p.Stats().Tenants); n != 1 {
			t.Errorf("%d tenants are remembered, want only the one that still floods", n)
		}
		old, fresh := flood(ctx, p, "old", 100), flood(ctx, p, "new", 100)
		if o, n := old(), fresh(); o-n > 100*time.Millisecond || n-o > 100*time.Millisecond {
			t.Errorf("the old tenant got %v of slot time, the new one %v, want the same within 100ms", o, n)
		}
		other()
	})
}
