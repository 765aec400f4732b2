package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
)

const (
	replicas  = 2
	sentinels = 3
	quorum    = sentinels/2 + 1
)

// sentinelDebug makes the sentinels look for replicas and for each other more often than in production, and not pause for
// half a minute when a busy machine has held them up for two seconds. All in milliseconds. The period of pings stays: a
// replica whose last report is older than five of them is not promoted, and while the master is down it reports every
// second.
var sentinelDebug = []string{
	"SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200", "TILT-PERIOD", "1000",
}

// ReplicaSet is a master with two replicas and three sentinels, which put a replica in the master's place when they have
// not heard of it for half a second.
type ReplicaSet struct {
	// MasterName is the name by which the sentinels know the master.
	MasterName string
	// Nodes are the master and the replicas.
	Nodes []*Server

	t         testing.TB
	sentinels []*Server
}

// StartReplicaSet starts a set that is ready: the replicas have the master's data, and the sentinels know them and each
// other.
func StartReplicaSet(t testing.TB) *ReplicaSet {
	t.Helper()
	r := &ReplicaSet{MasterName: "main", t: t}
	for range 1 + replicas {
		r.Nodes = append(r.Nodes, Start(t))
	}
	for range sentinels {
		r.sentinels = append(r.sentinels, Start(t, "--sentinel"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), readyWithin)
	defer cancel()
	if err := r.follow(ctx); err != nil {
		t.Fatalf("redistest: starting replicas: %v", err)
	}
	if err := r.watch(ctx); err != nil {
		t.Fatalf("redistest: starting sentinels: %v", err)
	}
	return r
}

// follow makes all nodes but the first replicas of it, and waits until they are. A command does so, and no setting that a
// node would return to on Restart, because the sentinels may have changed its place by then.
func (r *ReplicaSet) follow(ctx context.Context) error {
	for _, replica := range r.Nodes[1:] {
		if _, err := ask(ctx, replica.Addr(), "REPLICAOF", loopback, strconv.Itoa(r.Nodes[0].port)); err != nil {
			return err
		}
	}
	return poll(ctx, func() error {
		for _, replica := range r.Nodes[1:] {
			info, err := askInfo(ctx, replica.Addr(), "INFO", "replication")
			if err != nil {
				return err
			}
			if info["master_link_status"] != "up" {
				return fmt.Errorf("replica %s is not in sync: %v", replica.Addr(), info)
			}
		}
		return nil
	})
}

// watch has the sentinels watch the first node, and waits until each could replace it.
func (r *ReplicaSet) watch(ctx context.Context) error {
	for _, sentinel := range r.sentinels {
		for _, command := range [][]string{
			sentinelDebug,
			{"SENTINEL", "MONITOR", r.MasterName, loopback, strconv.Itoa(r.Nodes[0].port), strconv.Itoa(quorum)},
			{"SENTINEL", "SET", r.MasterName, "down-after-milliseconds", "500", "failover-timeout", "2000",
				"parallel-syncs", strconv.Itoa(replicas)},
		} {
			if _, err := ask(ctx, sentinel.Addr(), command...); err != nil {
				return err
			}
		}
	}
	return poll(ctx, func() error {
		for _, sentinel := range r.sentinels {
			if err := r.knowsAll(ctx, sentinel); err != nil {
				return err
			}
		}
		return nil
	})
}

// knowsAll returns an error unless the sentinel has found all replicas and other sentinels, and they answer it.
func (r *ReplicaSet) knowsAll(ctx context.Context, sentinel *Server) error {
	for _, group := range []struct {
		name, flags string
		size        int
	}{
		{"REPLICAS", "slave", replicas},
		{"SENTINELS", "sentinel", sentinels - 1},
	} {
		reply, err := ask(ctx, sentinel.Addr(), "SENTINEL", group.name, r.MasterName)
		if err != nil {
			return err
		}
		members, _ := reply.([]any)
		healthy := 0
		for _, member := range members {
			if fields, _ := member.([]any); field(fields, "flags") == group.flags { // others say what is wrong
				healthy++
			}
		}
		if healthy != group.size {
			return fmt.Errorf("sentinel %s: not %d healthy %s: %v", sentinel.Addr(), group.size, group.name, members)
		}
	}
	return nil
}

// field returns the value after the name in a reply that lists names and values by turns.
func field(list []any, name string) any {
	for pair := range slices.Chunk(list, 2) {
		if pair[0] == name && len(pair) == 2 {
			return pair[1]
		}
	}
	return nil
}

// Sentinels returns the addresses of the sentinels.
func (r *ReplicaSet) Sentinels() []string { return addrs(r.sentinels) }

// Master returns the node that most sentinels call the master. The test ends where there is none.
func (r *ReplicaSet) Master() *Server {
	r.t.Helper()
	return r.awaitMaster(func(*Server) error { return nil })
}

// AwaitFailover waits until most sentinels have put another node in the place of old, which the test has killed or
// frozen, and returns it: it is a master by its own word too. The test ends where they do not within half a minute.
func (r *ReplicaSet) AwaitFailover(old *Server) *Server {
	r.t.Helper()
	return r.awaitMaster(func(master *Server) error {
		if master == old {
			return fmt.Errorf("%s still is the master", old.Addr())
		}
		info, err := askInfo(r.t.Context(), master.Addr(), "INFO", "replication")
		if err == nil && info["role"] != "master" {
			err = fmt.Errorf("%s is not the master yet: %v", master.Addr(), info)
		}
		return err
	})
}

// awaitMaster waits until the master that most sentinels name passes check.
func (r *ReplicaSet) awaitMaster(check func(*Server) error) *Server {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), readyWithin)
	defer cancel()
	var master *Server
	err := poll(ctx, func() (err error) {
		if master, err = r.elected(ctx); err != nil {
			return err
		}
		return check(master)
	})
	if err != nil {
		r.t.Fatalf("redistest: %v", err)
	}
	return master
}

// elected returns the node that most sentinels name.
func (r *ReplicaSet) elected(ctx context.Context) (*Server, error) {
	votes := map[string]int{}
	var failed error
	for _, sentinel := range r.sentinels {
		reply, err := ask(ctx, sentinel.Addr(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", r.MasterName)
		if address, _ := reply.([]any); err == nil && len(address) == 2 {
			votes[net.JoinHostPort(fmt.Sprint(address[0]), fmt.Sprint(address[1]))]++
		}
		failed = errors.Join(failed, err)
	}
	for _, node := range r.Nodes {
		if votes[node.Addr()] >= quorum {
			return node, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the sentinels do not agree on a master: %v", votes), failed)
}
