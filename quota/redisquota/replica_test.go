package redisquota_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// replica is what one process of a fleet has: a limiter on a store on a client that is left as users have it.
type replica struct {
	*quota.Limiter
	t      testing.TB
	client redis.UniversalClient
	store  *redisquota.Store
	log    *lines
}

// newReplica returns a replica on a client, of which the store's configuration and the limiter's are what the test
// needs to say. Tiers are plans unless it says others.
func newReplica(t testing.TB, client redis.UniversalClient, cfg redisquota.Config, limits quota.Config) *replica {
	t.Helper()
	return open(t, client, cfg, limits, newStore)
}

// sibling returns another replica of the same fleet.
func (r *replica) sibling(cfg redisquota.Config, limits quota.Config) *replica {
	r.t.Helper()
	return open(r.t, r.client, cfg, limits, func(t testing.TB, client redis.UniversalClient, cfg redisquota.Config) *redisquota.Store {
		cfg.Prefix = r.store.Prefix()
		store, err := redisquota.New(client, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}

func open(
	t testing.TB, client redis.UniversalClient, cfg redisquota.Config, limits quota.Config,
	newStore func(testing.TB, redis.UniversalClient, redisquota.Config) *redisquota.Store,
) *replica {
	t.Helper()
	r := &replica{t: t, client: client, log: new(lines)}
	cfg.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	r.store = newStore(t, client, cfg)
	if limits.Tiers == nil {
		limits.Tiers = catalogue(t, tenant.Tier{Name: "free", Rate: 1000, Burst: 1000, Quotas: tenant.Quotas{Month: 1e9}})
	}
	limits.Store = r.store
	var err error
	if r.Limiter, err = quota.New(limits); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		r.store.Close() // an error where the test has left its server dead
	})
	return r
}

func catalogue(t testing.TB, tiers ...tenant.Tier) *tenant.Tiers {
	t.Helper()
	c, err := tenant.NewTiers(tiers[0].Name, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// clientOf returns a client of one server, with the defaults that users have: three retries among them.
func clientOf(t testing.TB, s *redistest.Server) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { client.Close() })
	return client
}

// take takes for a tenant, on the default tier.
func (r *replica) take(id string) quota.Decision { return r.takeFor(id, "") }

// takeFor takes for an operation of a tenant.
func (r *replica) takeFor(id, operation string) quota.Decision {
	r.t.Helper()
	d, err := r.Take(context.Background(), tenant.Tenant{ID: id}, operation)
	if err != nil {
		r.t.Errorf("Take for %s: %v, where a refusal is a decision too", id, err)
	}
	return d
}

// used returns what Redis has counted for a tenant in the longest window, the month, so that midnight is not felt.
func (r *replica) used(id string) int64 {
	r.t.Helper()
	usage, err := r.Usage(r.t.Context(), tenant.Tenant{ID: id})
	if err != nil || len(usage) == 0 {
		r.t.Fatalf("Usage of %s: %+v, %v, want some", id, usage, err)
	}
	return usage[len(usage)-1].Used
}

// awaitAlone takes until the store has given up a server, and returns the decisions.
func (r *replica) awaitAlone(id string) []quota.Decision {
	r.t.Helper()
	var all []quota.Decision
	eventually(r.t, "the store has given up the server", func() bool {
		all = append(all, r.take(id))
		return !r.store.Stats().Shared
	})
	return all
}

// awaitShared waits until the store has found by itself that its servers are back, and logs how long it took.
func (r *replica) awaitShared() {
	r.t.Helper()
	begin := time.Now()
	eventually(r.t, "limits are shared again", func() bool { return r.store.Stats().Shared })
	r.t.Logf("shared again after %v, to be within 2s", time.Since(begin).Round(time.Millisecond))
}

// mustShare waits until Redis decides, and allows. On a machine that is very busy, not every decision is in time.
func (r *replica) mustShare(id string) {
	r.t.Helper()
	eventually(r.t, "Redis decides", func() bool {
		before := r.store.Stats().Alone
		return r.take(id).Allowed && r.store.Stats().Alone == before
	})
}

// mustFollow checks that a decision is what the policy has the store say while Redis is away.
func mustFollow(t testing.TB, policy redisquota.Policy, d quota.Decision) {
	t.Helper()
	switch closed := policy == redisquota.Closed; {
	case closed && (d.Allowed || d.Reason != tenant.ReasonUnavailable || d.RetryAfter <= 0 || d.RetryAfter == quota.Never):
		t.Errorf("closed: got %+v, want %s, for a while", d, tenant.ReasonUnavailable)
	case !closed && !d.Allowed:
		t.Errorf("%v: got %+v, want it allowed", policy, d)
	}
}

// eventually waits until check returns true. The bound is for a machine that is very busy.
func eventually(t testing.TB, what string, check func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !check() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-ticker.C:
		}
	}
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// with returns the lines that contain each of the words.
func (l *lines) with(words ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
next:
	for line := range strings.Lines(l.text.String()) {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}
