package redistest

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"
)

const (
	// slots is how many hash slots a Redis Cluster has.
	slots = 16384
	// readyWithin is how long a cluster or a set of replicas may take to agree.
	readyWithin = 30 * time.Second
)

// clusterSettings of every node. The timeout is after how long without an answer a node counts as failed.
var clusterSettings = []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000"}

// Cluster is a Redis Cluster of masters. The first of n nodes has the first n-th of the slots, and so on.
type Cluster struct {
	// Nodes are the masters. One that is killed and restarted has its slots again and none of its keys.
	Nodes []*Server

	t testing.TB
}

// StartCluster starts a Redis Cluster that is ready: each node knows all others and serves. That takes a little more than
// two seconds, before which no node of a cluster serves.
func StartCluster(t testing.TB, nodes int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	binary := binaryOrFatal(t)
	buses := make([]string, nodes) // the ports on which the nodes talk to each other
	for i := range nodes {
		c.Nodes = append(c.Nodes, startFunc(t, binary, func() []string {
			buses[i] = strconv.Itoa(freePort())
			return append([]string{"--cluster-port", buses[i]}, clusterSettings...)
		}))
	}
	if err := c.join(t.Context(), buses); err != nil {
		t.Fatalf("redistest: joining the nodes of a cluster: %v", err)
	}
	c.AwaitReady()
	return c
}

// join gives each node its slots and introduces all to each other.
func (c *Cluster) join(ctx context.Context, buses []string) error {
	n := len(c.Nodes)
	for i, node := range c.Nodes {
		first, last := slots*i/n, slots*(i+1)/n-1
		commands := [][]string{
			{"CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)},
			{"CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)}, // distinct, else the nodes have to settle it first
		}
		for j, other := range c.Nodes[:i] {
			commands = append(commands, []string{"CLUSTER", "MEET", loopback, strconv.Itoa(other.port), buses[j]})
		}
		for _, command := range commands {
			if _, err := ask(ctx, node.Addr(), command...); err != nil {
				return err
			}
		}
	}
	return nil
}

// Addrs returns the addresses of the nodes.
func (c *Cluster) Addrs() []string { return addrs(c.Nodes) }

// AwaitReady waits until all nodes say that the cluster is complete and serves; after Restart of a node for example. The
// test ends where they do not within half a minute.
func (c *Cluster) AwaitReady() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), readyWithin)
	defer cancel()
	err := poll(ctx, func() error {
		for _, node := range c.Nodes {
			info, err := askInfo(ctx, node.Addr(), "CLUSTER", "INFO")
			if err != nil {
				return err
			}
			want := strconv.Itoa(len(c.Nodes))
			if info["cluster_state"] != "ok" || info["cluster_size"] != want || info["cluster_known_nodes"] != want {
				return fmt.Errorf("node %s is not ready: %v", node.Addr(), info)
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatalf("redistest: %v", err)
	}
}

func addrs(servers []*Server) []string {
	list := make([]string, len(servers))
	for i, s := range servers {
		list[i] = s.Addr()
	}
	return list
}
