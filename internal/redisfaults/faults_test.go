package redisfaults_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota/redisquota"
)

const (
	up   = "upstream"
	down = "downstream"
)

// faults of a network, each of which leaves no decision to the server.
var faults = []struct {
	name  string
	toxic toxic // the zero toxic: connections are refused
}{
	{"slow", toxic{"latency", down, map[string]int{"latency": 300}}}, // milliseconds, of which the store waits 50
	{"losing requests", toxic{"timeout", up, map[string]int{"timeout": 0}}},
	{"losing replies", toxic{"timeout", down, map[string]int{"timeout": 0}}},
	{"trickling", toxic{"slicer", down, map[string]int{"average_size": 4, "delay": 20_000}}}, // microseconds
	{"resetting connections", toxic{"reset_peer", down, map[string]int{"timeout": 0}}},
	{"ending replies halfway", toxic{"limit_data", down, map[string]int{"bytes": 20}}},
	{"ending requests halfway", toxic{"limit_data", up, map[string]int{"bytes": 20}}},
	{"refusing connections", toxic{}},
}

func TestStore_FollowsItsPolicyWhileTheNetworkIs(t *testing.T) {
	t.Parallel()
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			for _, policy := range []redisquota.Policy{redisquota.Local, redisquota.Closed, redisquota.Open} {
				t.Run(policy.String(), func(t *testing.T) {
					t.Parallel()
					n := newNetwork(t)
					r := newReplica(t, n, redisquota.Config{OnFailure: policy})
					r.mustShare("acme")
					n.poison(fault.toxic)
					eventually(t, "the store has given up the server", func() bool {
						mustFollow(t, policy, r.take("acme"))
						return !r.store.Stats().Shared
					})
					mustFollow(t, policy, r.take("globex"))
					n.mend()
					r.awaitShared()
					r.mustShare("acme")
					t.Logf("%+v", r.store.Stats())
				})
			}
		})
	}
}

// A network that is only slow, within the store's patience, is none that fails. Nor does it matter that it is slow to say
// that a connection has ended.
func TestStore_GoesOnOnAWorseNetwork(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	r := newReplica(t, n, redisquota.Config{OnFailure: redisquota.Closed, Timeout: 10 * time.Second})
	n.poison(toxic{"latency", down, map[string]int{"latency": 5}})
	n.poison(toxic{"slicer", up, map[string]int{"average_size": 100}})
	n.poison(toxic{"slow_close", down, map[string]int{"delay": 100}})
	f := start(r)
	f.flow(2000)
	f.end()
	f.mustAgree()
	if stats := r.store.Stats(); !stats.Shared {
		t.Errorf("got %+v, want limits shared", stats)
	}
}

func TestUsage_IsWhatWasServedButForCallsInDoubtWhileTheNetworkFails(t *testing.T) {
	t.Parallel()
	for _, policy := range []redisquota.Policy{redisquota.Closed, redisquota.Local} {
		for run := range 3 {
			t.Run(fmt.Sprint(policy, " ", run), func(t *testing.T) {
				t.Parallel()
				n := newNetwork(t)
				r := newReplica(t, n, redisquota.Config{OnFailure: policy})
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				random := rand.New(rand.NewPCG(seed, 0))
				f := start(r)
				for range 6 {
					f.flow(random.Int64N(1000))
					n.fail(random)
					f.flow(random.Int64N(200))
					n.mend()
					r.awaitShared()
				}
				f.flow(500)
				f.end()
				f.settle()
				f.mustAgree()
			})
		}
	}
}

// fail makes the network fail in some way.
func (n *network) fail(random *rand.Rand) {
	how := faults[random.IntN(len(faults))].toxic
	if how.Type == "limit_data" {
		how.Attributes = map[string]int{"bytes": random.IntN(5000)}
	}
	n.poison(how)
}
