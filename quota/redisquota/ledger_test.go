package redisquota_test

import (
	"fmt"
	"testing"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
)

// After an outage, what was served without Redis is soon counted, also of many tenants.
func TestPosting_FewCallsForManyTenants(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newReplica(t, clientOf(t, server), redisquota.Config{Timeout: strict.Timeout}, quota.Config{})
	server.Kill()
	r.awaitAlone("nobody")
	const tenants = 1000
	for i := range tenants {
		r.take(fmt.Sprintf("tenant-%d", i))
	}
	post := r.store.HoldPostings()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	r.awaitShared()
	before := r.store.Stats().Calls
	post()
	r.settle()
	if calls := r.store.Stats().Calls - before; calls > tenants/10 {
		t.Errorf("%d calls for the usage of %d tenants, want fewer than a tenth", calls, tenants)
	}
	for _, i := range []int{0, tenants / 2, tenants - 1} {
		if used := r.used(fmt.Sprintf("tenant-%d", i)); used != 1 {
			t.Errorf("tenant-%d: got %d used, want 1", i, used)
		}
	}
}
