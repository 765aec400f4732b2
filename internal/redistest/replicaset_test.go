package redistest_test

import (
	"fmt"
	"testing"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

func TestReplicaSet_ReplicaTakesTheDeadMastersPlace(t *testing.T) {
	t.Parallel()
	r := redistest.StartReplicaSet(t)
	if len(r.Nodes) != 3 || len(r.Sentinels()) != 3 {
		t.Fatalf("got %d nodes and %d sentinels, want 3 of each", len(r.Nodes), len(r.Sentinels()))
	}
	first := r.Master()
	if first != r.Nodes[0] {
		t.Errorf("the sentinels call %s the master, want %s", first.Addr(), r.Nodes[0].Addr())
	}
	wantReply(t, first, "OK", "SET", "key", "value")
	for _, replica := range r.Nodes[1:] {
		eventually(t, func() error { return replies(t, replica, "value", "GET", "key") })
	}

	first.Kill()
	second := r.AwaitFailover(first)
	if second == first || second != r.Master() {
		t.Errorf("after %s died: the master is %s, then %s", first.Addr(), second.Addr(), r.Master().Addr())
	}
	wantReply(t, second, "value", "GET", "key")
	wantReply(t, second, "OK", "SET", "key", "new")

	first.Restart()
	eventually(t, func() error { return replies(t, first, "new", "GET", "key") }) // as a replica
}

func replies(t *testing.T, s *redistest.Server, want any, command ...string) error {
	got, err := redistest.Ask(t.Context(), s.Addr(), command...)
	if err == nil && got != want {
		err = fmt.Errorf("%s: %q: got %#v, want %#v", s.Addr(), command, got, want)
	}
	return err
}
