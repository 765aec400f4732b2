package redisquota_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// shards is a Redis Cluster, and a client of it.
type shards struct {
	*redistest.Cluster
	t      *testing.T
	client *redis.ClusterClient
}

// The cases share a cluster, which takes seconds to start, and leave it as they found it but for where accounts live.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
	t.Cleanup(func() { client.Close() })
	for name, test := range map[string]func(*shards){
		"dead node concerns its tenants only":             (*shards).deadNode,
		"account is found where its slot moved to":        (*shards).movedSlot,
		"client of one node follows its policy":           (*shards).clientOfOneNode,
		"usage is what was served but for calls in doubt": (*shards).usage,
	} {
		t.Run(name, func(t *testing.T) { test(&shards{cluster, t, client}) })
	}
}

// on returns a tenant of the replica's whose account lives on a node.
func (s *shards) on(r *replica, node *redistest.Server) string {
	s.t.Helper()
	for i := range 1000 {
		id := fmt.Sprintf("tenant-%d", i)
		if s.home(r, id) == node.Addr() {
			return id
		}
	}
	s.t.Fatalf("of 1000 tenants none lives on %s", node.Addr())
	return ""
}

// home returns the address of the node that has a tenant's account.
func (s *shards) home(r *replica, id string) string {
	s.t.Helper()
	node, err := s.client.MasterForKey(s.t.Context(), r.store.Key(id))
	if err != nil {
		s.t.Fatal(err)
	}
	return node.Options().Addr
}

func (s *shards) deadNode() {
	t := s.t
	policies := []redisquota.Policy{redisquota.Local, redisquota.Closed}
	var replicas []*replica
	var ids [][]string // of each replica: a tenant on each node
	for _, policy := range policies {
		r := newReplica(t, s.client, redisquota.Config{OnFailure: policy}, quota.Config{})
		replicas = append(replicas, r)
		ids = append(ids, []string{s.on(r, s.Nodes[0]), s.on(r, s.Nodes[1]), s.on(r, s.Nodes[2])})
		for _, id := range ids[len(ids)-1] {
			r.mustShare(id)
		}
	}
	dead := s.Nodes[2]
	dead.Kill()
	for i, r := range replicas {
		for _, d := range r.awaitAlone(ids[i][2]) {
			mustFollow(t, policies[i], d)
		}
		for range 20 {
			mustFollow(t, policies[i], r.take(ids[i][2]))
			r.mustShare(ids[i][0])
			r.mustShare(ids[i][1])
		}
		if len(r.log.with("limits are not shared", dead.Addr())) == 0 {
			t.Errorf("%v: the log says %q, want a line that names the node", policies[i], r.log.with(""))
		}
	}
	dead.Restart()
	s.AwaitReady()
	for i, r := range replicas {
		r.awaitShared()
		for _, id := range ids[i] {
			r.mustShare(id)
		}
	}
}

func (s *shards) movedSlot() {
	t := s.t
	r := newReplica(t, s.client, strict, quota.Config{Global: quota.Rate{PerSecond: 1000, Burst: 1000}})
	from, to := s.Nodes[0], s.Nodes[1]
	id := s.on(r, from)
	const takes = 3
	for range takes {
		r.mustShare(id)
	}
	slot := s.client.ClusterKeySlot(t.Context(), r.store.Key(id)).Val()
	ids := map[*redistest.Server]string{}
	for _, node := range s.Nodes {
		ids[node] = patient(t, node).Do(t.Context(), "CLUSTER", "MYID").Val().(string)
	}
	must(t, patient(t, to), "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from])
	must(t, patient(t, from), "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to])
	host, port, _ := strings.Cut(to.Addr(), ":")
	for _, key := range patient(t, from).ClusterGetKeysInSlot(t.Context(), int(slot), 1000).Val() { // other cases' too
		must(t, patient(t, from), "MIGRATE", host, port, key, 0, 5000)
	}
	for range takes {
		r.mustShare(id) // the account is at its new home, the slot is not yet: ASK
	}
	for _, node := range s.Nodes {
		must(t, patient(t, node), "CLUSTER", "SETSLOT", slot, "NODE", ids[to])
	}
	for range takes {
		r.mustShare(id) // the client learns of it: MOVED
	}
	if used := r.used(id); used != 3*takes {
		t.Errorf("got %d used, want %d", used, 3*takes)
	}
	eventually(t, "the client knows the account's new home", func() bool { return s.home(r, id) == to.Addr() })
	r.mustShare(id)
	if stats := r.store.Stats(); stats.Alone+stats.Failures+stats.InDoubt != 0 {
		t.Errorf("got %+v, want nothing but decisions of Redis's", stats)
	}
}

// clientOfOneNode is told that most tenants live elsewhere.
func (s *shards) clientOfOneNode() {
	t := s.t
	r := newReplica(t, clientOf(t, s.Nodes[0]), redisquota.Config{OnFailure: redisquota.Closed}, quota.Config{})
	for _, d := range r.awaitAlone(s.on(r, s.Nodes[1])) {
		mustFollow(t, redisquota.Closed, d)
	}
	if lines := r.log.with("limits are not shared"); len(lines) == 0 || !strings.Contains(lines[0], "MOVED") {
		t.Errorf("the log says %q, want why", lines)
	}
}

func (s *shards) usage() {
	t := s.t
	r := newReplica(t, s.client, redisquota.Config{}, quota.Config{Tiers: busy(t)})
	f := start(r)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 4 {
		f.flow(random.Int64N(2000))
		node := s.Nodes[random.IntN(3)]
		node.Freeze()
		f.flow(random.Int64N(200))
		node.Thaw()
		r.awaitShared()
	}
	f.flow(1000)
	f.end()
	r.settle()
	f.mustAgree()
}

// A failover may lose what the replica that takes over had not been told of; not how to decide.
func TestFailover_LimitsAreSharedAgain(t *testing.T) {
	t.Parallel()
	set := redistest.StartReplicaSet(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: set.MasterName, SentinelAddrs: set.Sentinels()})
	t.Cleanup(func() { client.Close() })
	tiers := catalogue(t, tenant.Tier{Name: "free", Rate: 0.001, Burst: 10, Quotas: tenant.Quotas{Month: 1000}})
	r := newReplica(t, client, redisquota.Config{OnFailure: redisquota.Closed}, quota.Config{Tiers: tiers})
	r.mustShare("acme")
	must(t, client, "WAIT", 2, 5000)
	old := set.Master()
	old.Kill()
	for _, d := range r.awaitAlone("acme") {
		mustFollow(t, redisquota.Closed, d)
	}
	set.AwaitFailover(old)
	r.awaitShared()
	r.mustShare("globex")
	other := r.sibling(strict, quota.Config{Tiers: tiers})
	before := r.store.Stats().InDoubt
	got := r.admitted("acme", "", 5) + other.admitted("acme", "", 20)
	if lost := int(r.store.Stats().InDoubt - before); got > 9 || got < 9-lost { // a slow machine takes 50 ms for a call
		t.Errorf("got %d of a burst of 10 after one was taken before the failover, want 9 in all, less %d in doubt", got, lost)
	}
	if used := other.used("acme"); used != 10 {
		t.Errorf("got %d used, want 10", used)
	}
	if d := other.take("acme"); d.Reason != tenant.ReasonTenant {
		t.Errorf("got %+v, want it refused for its bucket", d)
	}
}
