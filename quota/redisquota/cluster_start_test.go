package redisquota_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
)

func TestCluster_ThatIsDeadWhenTheServiceStarts(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
	t.Cleanup(func() { client.Close() })
	for _, node := range cluster.Nodes {
		node.Freeze()
	}
	r := newReplica(t, client, redisquota.Config{Timeout: 50 * time.Millisecond}, quota.Config{})
	for range 1000 {
		r.take("acme")
	}
	if stats := r.store.Stats(); stats.Failures > 10 || stats.Alone != 1000 {
		t.Errorf("%+v, want 1000 decisions made alone, few of which asked for the Cluster first", stats)
	}
	if stats := r.store.Stats(); stats.Shared || stats.Changes == 0 || len(r.log.with("limits are not shared")) == 0 {
		t.Errorf("got %+v, log %q; want it counted and logged that the Cluster is away", stats, r.log.with(""))
	}
	for _, node := range cluster.Nodes {
		node.Thaw()
	}
	cluster.AwaitReady()
	r.awaitShared()
	r.mustShare("acme")
}
