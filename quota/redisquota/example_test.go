package redisquota_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Two replicas, each with a limiter and a store of its own, share one bucket and one daily quota.
func ExampleNew() {
	server, stop := exampleServer()
	defer stop()
	var replicas [2]*quota.Limiter
	for i := range replicas {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()}) // yours, with its password and TLS
		defer client.Close()
		store := orPanic(redisquota.New(client, redisquota.Config{Replicas: len(replicas), Timeout: exampleTimeout}))
		defer store.Close()
		tiers := orPanic(tenant.NewTiers("free",
			tenant.Tier{Name: "free", Rate: 0.001, Burst: 5, Quotas: tenant.Quotas{Day: 10_000}}))
		replicas[i] = orPanic(quota.New(quota.Config{Tiers: tiers, Store: store}))
		defer replicas[i].Close()
	}

	ctx, acme := context.Background(), tenant.Tenant{ID: "acme", Tier: "free"}
	for i := range 6 {
		d := orPanic(replicas[i%2].Take(ctx, acme, "GET /orders"))
		fmt.Printf("replica %d: allowed %t, %d of %d left\n", i%2, d.Allowed, d.Remaining, d.Limit)
	}
	for _, u := range orPanic(replicas[0].Usage(ctx, acme)) {
		fmt.Printf("%s: used %d of %d\n", u.Policy, u.Used, u.Limit)
	}
	// Output:
	// replica 0: allowed true, 4 of 5 left
	// replica 1: allowed true, 3 of 5 left
	// replica 0: allowed true, 2 of 5 left
	// replica 1: allowed true, 1 of 5 left
	// replica 0: allowed true, 0 of 5 left
	// replica 1: allowed false, 0 of 5 left
	// day: used 5 of 10000
}

// A replica goes on by itself, with its part of every limit, while Redis is away.
func ExampleStore_Stats() {
	server, stop := exampleServer()
	defer stop()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	tiers := orPanic(tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 0.001, Burst: 8}))
	store := orPanic(redisquota.New(client, redisquota.Config{
		Replicas: 4, // of which this is one: a quarter of each burst and rate is its part
		Timeout:  exampleTimeout,
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	}))
	defer store.Close()
	limiter := orPanic(quota.New(quota.Config{Tiers: tiers, Store: store}))
	defer limiter.Close()

	ctx, acme := context.Background(), tenant.Tenant{ID: "acme"}
	take := func() {
		d := orPanic(limiter.Take(ctx, acme, "GET /orders"))
		fmt.Printf("allowed %t, %d of %d left\n", d.Allowed, d.Remaining, d.Limit)
	}
	take()
	server.Kill()
	for range 3 {
		take()
	}
	stats := store.Stats()
	fmt.Printf("shared %t; of %d decisions %d alone\n", stats.Shared, stats.Decisions, stats.Alone)
	// Output:
	// allowed true, 7 of 8 left
	// allowed true, 1 of 2 left
	// allowed true, 0 of 2 left
	// allowed false, 0 of 2 left
	// shared false; of 4 decisions 3 alone
}

// exampleTimeout is a timeout for a machine that is busy with tests; leave yours at the default.
const exampleTimeout = 5 * time.Second

// exampleServer starts a Redis of the example's own.
func exampleServer() (server *redistest.Server, stop func()) {
	dir := orPanic(os.MkdirTemp("", "redisquota"))
	server = orPanic(redistest.Launch(dir))
	return server, func() {
		server.Kill()
		_ = os.RemoveAll(dir)
	}
}

func orPanic[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
