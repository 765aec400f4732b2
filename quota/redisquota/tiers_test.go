package redisquota_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// A process that has not heard of any of many assignments meets all of them at once.
func TestStore_ManyTiersThatAreAssignedInRedis(t *testing.T) {
	t.Parallel()
	const plans = 100
	plan := func(i int) string { return fmt.Sprintf("plan-%d", i) }
	tiers := []tenant.Tier{{Name: "free", Rate: 10, Burst: 10}}
	for i := range plans {
		tiers = append(tiers, tenant.Tier{Name: plan(i), Rate: 1000, Burst: 1000})
	}
	r := newReplica(t, oneServer(t), strict, quota.Config{Tiers: catalogue(t, tiers...)})
	for i := range plans {
		if err := r.SetTier(t.Context(), fmt.Sprintf("tenant-%d", i), plan(i)); err != nil {
			t.Fatal(err)
		}
	}
	other := r.sibling(strict, quota.Config{Tiers: catalogue(t, tiers...)})
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range plans {
		all.Go(func() {
			<-start
			if d := other.take(fmt.Sprintf("tenant-%d", i)); !d.Allowed || d.Tier != plan(i) {
				t.Errorf("got %+v, want it allowed, on %s", d, plan(i))
			}
		})
	}
	close(start)
	all.Wait()
	if stats := other.store.Stats(); stats.Decisions != plans || stats.Alone != 0 || stats.Failures != 0 {
		t.Errorf("%+v, want %d decisions, each of them Redis's", stats, plans)
	}
}
