package redistest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

func TestStartCluster_EachNodeServesItsSlots(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	if len(c.Nodes) != 3 || !slices.Equal(c.Addrs(), []string{c.Nodes[0].Addr(), c.Nodes[1].Addr(), c.Nodes[2].Addr()}) {
		t.Fatalf("got %d nodes at %v", len(c.Nodes), c.Addrs())
	}
	for key, slot := range map[string]int{"b": 3300, "c": 7365, "foo": 12182} { // one in each third
		owner := slot * 3 / 16384
		for i, node := range c.Nodes {
			_, err := redistest.Ask(t.Context(), node.Addr(), "SET", key, "value")
			if i == owner {
				if err != nil {
					t.Errorf("node %d, SET %s: %v", i, key, err)
				}
				continue
			}
			moved := fmt.Sprintf("MOVED %d %s", slot, c.Nodes[owner].Addr())
			if err == nil || !strings.HasSuffix(err.Error(), moved) {
				t.Errorf("node %d, SET %s: got %v, want %s", i, key, err, moved)
			}
		}
	}
}

func TestCluster_NodeComesBackEmptyWithItsSlots(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	node := c.Nodes[2]
	ask(t, node, "SET", "foo", "value")
	node.Kill()
	node.Restart()
	c.AwaitReady()
	wantReply(t, node, nil, "GET", "foo")
	wantReply(t, node, "OK", "SET", "foo", "value")
}
