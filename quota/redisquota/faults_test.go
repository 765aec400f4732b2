package redisquota_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
)

// patient is how an operator asks, who waits.
func patient(t testing.TB, s *redistest.Server) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), ReadTimeout: -1})
	t.Cleanup(func() { client.Close() })
	return client
}

// outages are ways for a server to be of no use, until it is mended. Each is followed by what it takes.
var outages = []struct {
	name  string
	args  []string
	begin func(*testing.T, *redistest.Server) (mend func())
	keeps bool // what was counted before
}{
	{"killed", nil, func(_ *testing.T, s *redistest.Server) func() {
		s.Kill()
		return func() { s.Restart() }
	}, false},
	{"frozen", nil, func(_ *testing.T, s *redistest.Server) func() {
		s.Freeze()
		return s.Thaw
	}, true},
	{"out of memory", []string{"--maxmemory", "4mb", "--maxmemory-policy", "noeviction"}, fill, true},
	{"a replica", nil, func(t *testing.T, s *redistest.Server) func() {
		must(t, patient(t, s), "REPLICAOF", "127.0.0.1", "1") // nobody is there: it serves what it has, read only
		return func() { must(t, patient(t, s), "REPLICAOF", "NO", "ONE") }
	}, true},
	{"loading", []string{"--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"}, load, true},
	{"a script that takes too long", []string{"--busy-reply-threshold", "10"}, func(t *testing.T, s *redistest.Server) func() {
		done := make(chan error)
		go func() { done <- patient(t, s).Eval(context.Background(), "while true do end", nil).Err() }()
		return func() {
			must(t, patient(t, s), "SCRIPT", "KILL")
			<-done
		}
	}, true},
}

// fill fills the server's memory until it refuses to take more.
func fill(t *testing.T, s *redistest.Server) func() {
	client := patient(t, s)
	ballast := strings.Repeat("x", 1<<12)
	for i := 0; ; i++ {
		err := client.RPush(t.Context(), "ballast", ballast).Err()
		if redis.HasErrorPrefix(err, "OOM") {
			break
		}
		if err != nil || i > 1<<12 {
			t.Fatalf("%d times 4 KiB in 4 MiB: %v", i, err)
		}
	}
	must(t, client, "CONFIG", "SET", "maxmemory", "3mb") // lest what others free makes room
	return func() { must(t, client, "DEL", "ballast") }
}

// load has the server read its data again, slowly.
func load(t *testing.T, s *redistest.Server) func() {
	client := patient(t, s)
	must(t, client, "EVAL", "for i = 1, 50000 do redis.call('SET', i, i) end return 'OK'", "0")
	must(t, client, "CONFIG", "SET", "key-load-delay", "100") // in microseconds
	done := make(chan error)
	go func() { done <- client.Do(context.Background(), "DEBUG", "RELOAD").Err() }()
	eventually(t, "the server loads", func() bool {
		return redis.HasErrorPrefix(patient(t, s).Get(t.Context(), "1").Err(), "LOADING")
	})
	return func() {
		must(t, patient(t, s), "CONFIG", "SET", "key-load-delay", "0")
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func must(t *testing.T, client redis.UniversalClient, command ...any) {
	t.Helper()
	if err := client.Do(t.Context(), command...).Err(); err != nil {
		t.Fatalf("%v: %v", command, err)
	}
}

// Each outage is met by a replica of each policy.
func TestStore_FollowsItsPolicyWhileTheServerIs(t *testing.T) {
	t.Parallel()
	for _, outage := range outages {
		t.Run(outage.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, outage.args...)
			client := clientOf(t, server)
			var replicas []*replica
			policies := []redisquota.Policy{redisquota.Local, redisquota.Closed, redisquota.Open}
			for _, policy := range policies {
				r := newReplica(t, client, redisquota.Config{OnFailure: policy}, quota.Config{Global: quota.Rate{PerSecond: 1000, Burst: 1000}})
				r.mustShare("acme")
				replicas = append(replicas, r)
			}
			mend := outage.begin(t, server)
			for i, r := range replicas {
				for _, d := range r.awaitAlone("acme") {
					mustFollow(t, policies[i], d)
				}
				mustFollow(t, policies[i], r.take("globex"))
			}
			mend()
			for i, r := range replicas {
				r.awaitShared()
				r.mustShare("acme")
				stats := r.store.Stats()
				t.Logf("%v: %+v", policies[i], stats)
				away, back := len(r.log.with("limits are not shared")), len(r.log.with("limits are shared again"))
				if !stats.Shared || stats.Changes < 2 || away != back || uint64(away+back) != stats.Changes {
					t.Errorf("%v: got %+v, and the log says %d times that Redis is away and %d times that it is back; want "+
						"each change counted and logged", policies[i], stats, away, back)
				}
				if used := r.used("acme"); outage.keeps && used < 2 {
					t.Errorf("%v: %d used, want at least what was taken before and after", policies[i], used)
				}
			}
		})
	}
}

func TestStore_ServerThatForgotTheScriptIsToldItAgain(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redistest.Start(t))
	r := newReplica(t, client, strict, quota.Config{})
	for i := range 5 {
		must(t, client, "SCRIPT", "FLUSH")
		r.mustShare("acme")
		if used := r.used("acme"); used != int64(i)+1 {
			t.Errorf("after %d takes: %d used", i+1, used)
		}
	}
	if stats := r.store.Stats(); stats.Failures+stats.Alone+stats.InDoubt != 0 {
		t.Errorf("got %+v, want no failure", stats)
	}
}

func TestStore_ServerThatIsEmptyAgainStartsAfresh(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newReplica(t, clientOf(t, server), redisquota.Config{OnFailure: redisquota.Closed}, quota.Config{})
	r.mustShare("acme")
	server.Kill()
	server.Restart()
	eventually(t, "a decision is made", func() bool { return r.take("acme").Allowed })
	if used := r.used("acme"); used != 1 {
		t.Errorf("got %d used, want 1: what was decided since", used)
	}
}

// An account that is none concerns its tenant only.
func TestStore_BrokenAccount(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redistest.Start(t))
	for name, value := range map[string]string{"nonsense": "nonsense", "truncated": "\x01\x04free", "empty": ""} {
		for _, policy := range []redisquota.Policy{redisquota.Local, redisquota.Closed, redisquota.Open} {
			t.Run(fmt.Sprint(name, ", ", policy), func(t *testing.T) {
				r := newReplica(t, client, redisquota.Config{OnFailure: policy, Timeout: strict.Timeout}, quota.Config{})
				must(t, client, "SET", r.store.Key("acme"), value)
				for range 10 {
					mustFollow(t, policy, r.take("acme"))
					r.mustShare("globex")
				}
				if stats := r.store.Stats(); !stats.Shared || stats.Failures+stats.InDoubt != 0 {
					t.Errorf("got %+v, want the others' limits shared, and nothing in doubt", stats)
				}
				if err := r.Reset(t.Context(), "acme"); err == nil {
					t.Error("Reset: no error, of an account that cannot be read")
				}
				must(t, client, "DEL", r.store.Key("acme"))
				r.mustShare("acme")
			})
		}
	}
}

// A key of another type is none of ours, and is replaced.
func TestStore_KeyOfAnotherTypeHeals(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redistest.Start(t))
	for _, id := range []string{"acme", "_cluster"} {
		t.Run(id, func(t *testing.T) {
			r := newReplica(t, client, strict, quota.Config{Global: quota.Rate{PerSecond: 100, Burst: 100}})
			must(t, client, "RPUSH", r.store.Key(id), "a", "b")
			for i := range 2 {
				if d := r.take("acme"); !d.Allowed {
					t.Errorf("take %d: got %+v, want it allowed", i+1, d)
				}
			}
			if used := r.used("acme"); used != 2 {
				t.Errorf("got %d used, want 2", used)
			}
			r.mustExpire("acme", "_cluster")
		})
	}
}

func TestStore_KeysExpire(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redistest.Start(t))
	r := newReplica(t, client, strict, quota.Config{Global: quota.Rate{PerSecond: 100, Burst: 100}})
	for range 3 {
		r.mustShare("acme")
		r.mustExpire("acme", "_cluster")
	}
}

// mustExpire checks that the accounts are kept for some time and no longer.
func (r *replica) mustExpire(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		kind, ttl := r.client.Type(r.t.Context(), r.store.Key(id)).Val(), r.client.TTL(r.t.Context(), r.store.Key(id)).Val()
		if kind != "string" || ttl <= 0 {
			r.t.Errorf("%s: got a %s that expires in %v, want a string that does", id, kind, ttl)
		}
	}
}
