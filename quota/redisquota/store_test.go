package redisquota_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestNew_SaysWhatIsWrong(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	for _, tt := range []struct {
		name   string
		client redis.UniversalClient
		cfg    redisquota.Config
		want   []string
	}{
		{"braces", client, redisquota.Config{Prefix: "{app}:"}, []string{"Prefix"}},
		{"everything", client, redisquota.Config{Prefix: "}", Replicas: -1, OnFailure: 7, Timeout: -1},
			[]string{"Prefix", "Replicas", "OnFailure", "Timeout"}},
		{"a ring", ring, redisquota.Config{}, []string{"*redis.Ring", "*redis.ClusterClient"}},
		{"no client", nil, redisquota.Config{}, []string{"client is nil"}},
		{"a nil client", (*redis.Client)(nil), redisquota.Config{}, []string{"client is nil"}},
		{"a nil cluster", (*redis.ClusterClient)(nil), redisquota.Config{}, []string{"client is nil"}},
		{"too short", client, redisquota.Config{Timeout: 1}, []string{"Timeout is 1ns", "1ms to 10s"}},
		{"too long", client, redisquota.Config{Timeout: time.Hour}, []string{"Timeout is 1h"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := redisquota.New(tt.client, tt.cfg)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want one that names %s", err, want)
				}
			}
		})
	}
}

func TestStore_PingSaysWhetherDecisionsWouldBeMade(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := clientOf(t, server)
	r := newReplica(t, client, redisquota.Config{Timeout: strict.Timeout}, quota.Config{})
	if err := r.store.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, client, "CONFIG", "SET", "min-replicas-to-write", "1")
	if err := r.store.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("Ping of a server that must not write: %v, want what it says", err)
	}
	server.Kill()
	if err := r.store.Ping(t.Context()); err == nil {
		t.Error("Ping of a dead server: no error")
	}
}

// A server that answers, but not what a decision needs, stays cut off: it does not come and go.
func TestBreaker_StaysOpenWhereARightIsMissing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := clientOf(t, server)
	for _, rights := range []string{"~elsewhere:* +@all", "~* +@all -mget", "~* +@all -setrange", "~* +@all -setex"} {
		must(t, admin, append([]any{"ACL", "SETUSER", "quota", "reset", "on", ">secret"}, words(rights)...)...)
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "quota", Password: "secret"})
		t.Cleanup(func() { client.Close() })
		r := newReplica(t, client, redisquota.Config{}, quota.Config{})
		r.awaitAlone("acme")
		changes := r.store.Stats().Changes
		eventually(t, "another probe", func() bool {
			r.take("acme")
			return len(r.log.with("nor does a probe succeed", "error=")) > 0
		})
		if stats := r.store.Stats(); stats.Shared || stats.Changes != changes {
			t.Errorf("%s: %+v, want no change since it was cut off", rights, stats)
		}
		if _, err := r.Usage(t.Context(), tenant.Tenant{ID: "acme"}); err == nil || !strings.ContainsAny(err.Error(), "'") && !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%s: Usage meanwhile: %v, want an error that says why", rights, err)
		}
	}
}

func words(s string) (all []any) {
	for _, w := range strings.Fields(s) {
		all = append(all, w)
	}
	return all
}

func TestStore_IsClosedOnce(t *testing.T) {
	t.Parallel()
	r := newReplica(t, oneServer(t), strict, quota.Config{})
	r.take("acme")
	for range 2 {
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	calls := []quota.Call{{Tenant: "acme", Cost: 1}}
	rules := quota.Rules{Tiers: r.Tiers()}
	for what, err := range map[string]error{
		"Take":    r.store.Take(t.Context(), rules, calls),
		"Refund":  r.store.Refund(t.Context(), rules, []quota.Charge{{Tenant: "acme", Units: 1}}),
		"SetTier": r.store.SetTier(t.Context(), rules, "acme", tenant.Assertion{Tier: "free"}),
		"Settle":  r.store.Settle(t.Context(), rules, ""),
		"Reset":   r.store.Reset(t.Context(), rules, "acme"),
		"Usage":   r.store.Usage(t.Context(), rules, &calls[0]),
	} {
		if !errors.Is(err, redisquota.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", what, err)
		}
	}
}

// What is under way when a store is closed is done, and what was leased for it goes back: not a unit is lost.
func TestStore_CloseWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for range 20 {
		f := newFleet(t, oneServer(t), 1, quota.Rate{}, tenant.Tier{Name: "still", Rate: 0, Burst: 100_000})
		store, err := redisquota.New(f.client, f.cfg)
		if err != nil {
			t.Fatal(err)
		}
		limiter, err := quota.New(quota.Config{Tiers: f.tiers, Store: store})
		if err != nil {
			t.Fatal(err)
		}
		var admitted atomic.Int64
		var callers sync.WaitGroup
		started := make(chan struct{}, 8)
		for range 8 {
			callers.Go(func() {
				for n := 0; ; n++ {
					d, err := limiter.Take(t.Context(), tenant.Tenant{ID: "acme"}, "GET /")
					if err != nil || d.Reason == tenant.ReasonUnavailable {
						return // it is closed
					}
					if d.Allowed {
						admitted.Add(1)
					}
					if n == 20 {
						started <- struct{}{}
					}
				}
			})
		}
		for range 8 {
			<-started
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		callers.Wait()
		left := f.start()
		d, err := left.Peek(t.Context(), tenant.Tenant{ID: "acme"}, "GET /")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := d.Remaining, 100_000-int(admitted.Load()); got != want {
			t.Fatalf("%d remaining, want %d: %d were admitted", got, want, admitted.Load())
		}
	}
}

// panics is a hook of the client that panics once.
type panics struct{ armed atomic.Bool }

func (p *panics) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p *panics) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (p *panics) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if p.armed.CompareAndSwap(true, false) {
			panic("a hook of the user's")
		}
		return next(ctx, cmd)
	}
}

func TestStore_PanicOfTheCallerWhoAsksForAllLeavesNobodyWaiting(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	hook := new(panics)
	client.AddHook(hook)
	cfg := strict
	cfg.Leases = true
	r := newReplica(t, client, cfg, quota.Config{})
	hook.armed.Store(true)
	var panicked, answered atomic.Int64
	var callers sync.WaitGroup
	for range 200 {
		callers.Go(func() {
			defer func() {
				if recover() != nil {
					panicked.Add(1)
				}
			}()
			r.take("acme")
			answered.Add(1)
		})
	}
	callers.Wait()
	if panicked.Load() != 1 || answered.Load() != 199 {
		t.Errorf("%d callers panicked, %d have an answer; want 1, 199", panicked.Load(), answered.Load())
	}
	r.mustShare("acme")
}

func TestLocal_ForgetsAnAssignmentThatWasTakenBack(t *testing.T) {
	t.Parallel()
	tiers := catalogue(t, tenant.Tier{Name: "free", Rate: 1, Burst: 5}, tenant.Tier{Name: "pro", Rate: 100, Burst: 100})
	r, server := cutOff(t, redisquota.Config{}, quota.Config{Tiers: tiers})
	_ = server.Restart()
	r.awaitShared()
	for _, tier := range []string{"pro", ""} {
		if err := r.SetTier(t.Context(), "acme", tier); err != nil {
			t.Fatal(err)
		}
		r.take("acme")
	}
	server.Kill()
	for _, d := range r.awaitAlone("acme") {
		if d.Tier != "free" {
			t.Fatalf("tier %q while Redis is away, want free", d.Tier)
		}
	}
}

func TestStore_SharedBucketThatIsNoneIsNoFailureOfTheServer(t *testing.T) {
	t.Parallel()
	client := oneServer(t)
	r := newReplica(t, client, redisquota.Config{Timeout: strict.Timeout}, quota.Config{Global: quota.Rate{PerSecond: 10, Burst: 10}})
	must(t, client, "SET", r.store.Prefix()+"{_cluster}", "garbage")
	for range 20 {
		if d := r.take("acme"); !d.Allowed && d.Reason != tenant.ReasonGlobal {
			t.Fatalf("refused by %s", d.Reason)
		}
	}
	stats := r.store.Stats()
	if !stats.Shared || stats.Changes != 0 || stats.Alone != 20 {
		t.Errorf("%+v, want 20 decisions alone, and no change of the server's state", stats)
	}
}
