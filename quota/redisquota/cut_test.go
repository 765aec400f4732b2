package redisquota_test

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
)

// scissors cut the connection that brings the next reply, once they are ready: the server has done what it was asked, and
// the client does not learn of it. Every other connection works, so that a client that asks again is answered.
type scissors struct{ ready atomic.Bool }

func (s *scissors) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &cuttable{conn, s}, err
}

type cuttable struct {
	net.Conn
	scissors *scissors
}

func (c *cuttable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.scissors.ready.CompareAndSwap(true, false) {
		c.Close()
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

// The client is left as users have it: it makes a command up to four times.
func TestTake_IsNotAskedForTwiceWhereTheReplyIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var s scissors
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: s.dial})
	t.Cleanup(func() { client.Close() })
	for _, policy := range []redisquota.Policy{redisquota.Local, redisquota.Closed, redisquota.Open} {
		r := newReplica(t, client, redisquota.Config{OnFailure: policy, Timeout: strict.Timeout}, quota.Config{})
		r.mustShare("acme")
		s.ready.Store(true)
		mustFollow(t, policy, r.take("acme"))
		stats := r.store.Stats()
		if s.ready.Load() || stats.InDoubt != 1 || stats.Failures != 1 || !stats.Shared {
			t.Errorf("%v: got %+v, want one failure, and one decision in doubt", policy, stats)
		}
		want := int64(2)
		if policy == redisquota.Local { // it is served here, and counted as such
			r.settle()
			want++
		}
		if used := r.used("acme"); used != want {
			t.Errorf("%v: got %d used, want %d", policy, used, want)
		}
	}

	// Were they not able to find out, this would be 1 as well.
	s.ready.Store(true)
	if err := client.Incr(t.Context(), "control").Err(); err != nil {
		t.Fatal(err)
	}
	if made := client.Get(t.Context(), "control").Val(); made != "2" {
		t.Errorf("control: a command whose reply was lost was made %s times, want 2", made)
	}
}

func TestPosting_CountsOnceWhereTheReplyIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	var s scissors
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: s.dial})
	t.Cleanup(func() { client.Close() })
	r := newReplica(t, client, redisquota.Config{Timeout: strict.Timeout}, quota.Config{})
	server.Kill()
	r.awaitAlone("nobody")
	const alone = 40
	if got := r.admitted("acme", "", alone); got != alone {
		t.Fatalf("got %d of %d without Redis, want all", got, alone)
	}
	post := r.store.HoldPostings()
	server.Restart()
	r.awaitShared()
	before := r.store.Stats().Failures
	s.ready.Store(true)
	post()
	r.settle()
	if s.ready.Load() || r.store.Stats().Failures != before+1 {
		t.Errorf("got %+v, want one failure more than %d: that of the first posting", r.store.Stats(), before)
	}
	if used, served := r.used("acme")+r.used("nobody"), r.store.Stats().Alone; used != int64(served) {
		t.Errorf("got %d used, want %d", used, served) // whichever of the two postings was cut
	}
}
