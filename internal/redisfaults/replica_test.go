package redisfaults_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// replica is a limiter on a store on a client that is left as users have it, behind a network.
type replica struct {
	*quota.Limiter
	t      *testing.T
	store  *redisquota.Store
	direct *quota.Limiter // on the same keys, by the server's own address
}

func newReplica(t *testing.T, n *network, cfg redisquota.Config) *replica {
	t.Helper()
	r := &replica{t: t}
	r.store, r.Limiter = open(t, n.proxy.Listen, cfg)
	_, r.direct = open(t, n.server.Addr(), redisquota.Config{OnFailure: redisquota.Closed, Timeout: 10 * time.Second})
	return r
}

func open(t *testing.T, addr string, cfg redisquota.Config) (*redisquota.Store, *quota.Limiter) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	cfg.Prefix, cfg.Logger = t.Name()+":", slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := redisquota.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	quotas := tenant.Quotas{Day: 1e9, Month: 1e9}
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 1e5, Burst: 1e5, Quotas: quotas})
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := quota.New(quota.Config{Tiers: tiers, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		limiter.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		client.Close()
	})
	return store, limiter
}

func (r *replica) take(id string) quota.Decision {
	d, err := r.Take(context.Background(), tenant.Tenant{ID: id}, "")
	if err != nil {
		r.t.Errorf("Take for %s: %v, where a refusal is a decision too", id, err)
	}
	return d
}

// used returns what the server has counted for a tenant in the month, so that midnight is not felt.
func (r *replica) used(id string) int64 {
	r.t.Helper()
	usage, err := r.direct.Usage(r.t.Context(), tenant.Tenant{ID: id})
	if err != nil || len(usage) != 2 {
		r.t.Fatalf("Usage of %s: %+v, %v, want that of two windows", id, usage, err)
	}
	return usage[1].Used
}

// mustFollow checks that a decision is what the policy has the store say while Redis is away.
func mustFollow(t *testing.T, policy redisquota.Policy, d quota.Decision) {
	t.Helper()
	switch closed := policy == redisquota.Closed; {
	case closed && (d.Allowed || d.Reason != tenant.ReasonUnavailable || d.RetryAfter <= 0 || d.RetryAfter == quota.Never):
		t.Errorf("closed: got %+v, want %s, for a while", d, tenant.ReasonUnavailable)
	case !closed && !d.Allowed:
		t.Errorf("%v: got %+v, want it allowed", policy, d)
	}
}

// mustShare waits until the server decides, and allows. On a machine that is very busy, not every decision is in time.
func (r *replica) mustShare(id string) {
	r.t.Helper()
	eventually(r.t, "the server decides", func() bool {
		before := r.store.Stats().Alone
		return r.take(id).Allowed && r.store.Stats().Alone == before
	})
}

// awaitShared waits until the store has found by itself that the server is back, and logs how long it took.
func (r *replica) awaitShared() {
	r.t.Helper()
	begin := time.Now()
	eventually(r.t, "limits are shared again", func() bool { return r.store.Stats().Shared })
	r.t.Logf("shared again after %v, to be within 2s", time.Since(begin).Round(time.Millisecond))
}

// eventually waits until check returns true. The bound is for a machine that is very busy.
func eventually(t *testing.T, what string, check func() bool) {
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
