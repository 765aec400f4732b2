package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

// once is a command that go-redis does not send again, whatever the client's MaxRetries.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// What docs/redis-client.md says: a script whose reply is lost is run again by go-redis unless the client or the command
// forbids it, and by rueidis only where the command allows it.
func TestClients_RunAScriptAgainWhoseReplyWasLost(t *testing.T) {
	const script = `return redis.call('INCR', KEYS[1])`
	command := func(ctx context.Context, sha string) once { return once{redis.NewCmd(ctx, "evalsha", sha, 1, "runs")} }
	tests := []struct {
		name string
		run  func(ctx context.Context, addr, sha string)
		want int64
	}{
		{"go-redis", func(ctx context.Context, addr, sha string) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			defer client.Close()
			client.EvalSha(ctx, sha, []string{"runs"})
		}, 4},
		{"go-redis, MaxRetries -1", func(ctx context.Context, addr, sha string) {
			client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
			defer client.Close()
			client.EvalSha(ctx, sha, []string{"runs"})
		}, 1},
		{"go-redis, NoRetry", func(ctx context.Context, addr, sha string) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			defer client.Close()
			_ = client.Process(ctx, command(ctx, sha))
		}, 1},
		{"go-redis pipeline, NoRetry", func(ctx context.Context, addr, sha string) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			defer client.Close()
			pipeline := client.Pipeline()
			_ = pipeline.Process(ctx, command(ctx, sha))
			_, _ = pipeline.Exec(ctx)
		}, 1},
		{"rueidis", func(ctx context.Context, addr, _ string) {
			client := must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}}))
			defer client.Close()
			rueidis.NewLuaScript(script).Exec(ctx, client, []string{"runs"}, nil)
		}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := redistest.Start(t)
			direct := redis.NewClient(&redis.Options{Addr: s.Addr()})
			defer direct.Close()
			sha := must(direct.ScriptLoad(t.Context(), script).Result())
			test.run(t.Context(), swallowReplies(t, s.Addr()), sha)
			if got := must(direct.Get(t.Context(), "runs").Int64()); got != test.want {
				t.Errorf("the script ran %d times, want %d", got, test.want)
			}
		})
	}
}

// swallowReplies returns the address of a proxy to the server at addr that cuts a connection instead of passing on the
// reply to a script.
func swallowReplies(t *testing.T, addr string) string {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			var ran atomic.Bool
			go pass(server, client, func(b []byte) bool {
				if bytes.Contains(bytes.ToLower(b), []byte("evalsha")) {
					ran.Store(true)
				}
				return true
			})
			go pass(client, server, func([]byte) bool { return !ran.Load() })
		}
	}()
	return listener.Addr().String()
}

// pass copies what onward lets through, and cuts both at the first that it does not.
func pass(to io.WriteCloser, from io.ReadCloser, onward func([]byte) bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !onward(buffer[:n]) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
