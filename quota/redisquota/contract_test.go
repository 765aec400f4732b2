package redisquota_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/quotatest"
	"github.com/tenantgate/tenantgate/quota/redisquota"
)

func TestStore_KeepsTheContract(t *testing.T) {
	for _, binary := range redistest.Binaries() {
		t.Run(binary, func(t *testing.T) {
			client := redis.NewClient(&redis.Options{Addr: redistest.StartBinary(t, binary).Addr()})
			t.Cleanup(func() { client.Close() })
			t.Run("test's clock", func(t *testing.T) { runContract(t, client) })
			t.Run("nothing is plain", func(t *testing.T) { runContract(t, client, (*redisquota.Store).NotPlain) })
			t.Run("with leases", func(t *testing.T) { runContract(t, client, (*redisquota.Store).Lease) })
			t.Run("server's clock", func(t *testing.T) { runContractInRealTime(t, client) })
		})
	}
}

var stores atomic.Int64

func newStore(t testing.TB, client redis.UniversalClient, cfg redisquota.Config) *redisquota.Store {
	t.Helper()
	cfg.Prefix = "test" + strconv.FormatInt(stores.Add(1), 10) + ":"
	store, err := redisquota.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// strict is a store's configuration in which every decision is Redis's.
var strict = redisquota.Config{OnFailure: redisquota.Closed, Timeout: 10 * time.Second}

func TestStore_KeepsTheContractInACluster(t *testing.T) {
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: servers.Addrs()})
	t.Cleanup(func() { client.Close() })
	runContract(t, client)
}

func TestStore_KeepsTheContractInAReplicaSet(t *testing.T) {
	t.Parallel()
	set := redistest.StartReplicaSet(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: set.MasterName, SentinelAddrs: set.Sentinels()})
	t.Cleanup(func() { client.Close() })
	runContract(t, client)
	set.Master().Kill()
}

func runContract(t *testing.T, client redis.UniversalClient, options ...func(*redisquota.Store)) {
	var elapsed atomic.Int64
	begin := time.Date(2026, 2, 27, 12, 30, 0, 0, time.UTC)
	quotatest.Run(t, quotatest.Config{
		New: func(t testing.TB) quota.Store {
			store := newStore(t, client, strict)
			store.SetClock(func() time.Time { return begin.Add(time.Duration(elapsed.Load())) })
			for _, option := range options {
				option(store)
			}
			return store
		},
		Advance: func(d time.Duration) { elapsed.Add(int64(d)) },
	})
}

func runContractInRealTime(t *testing.T, client redis.UniversalClient) {
	quotatest.Run(t, quotatest.Config{
		New:     func(t testing.TB) quota.Store { return newStore(t, client, strict) },
		Advance: time.Sleep, // the clock is the server's
		Drift:   time.Second,
	})
}
