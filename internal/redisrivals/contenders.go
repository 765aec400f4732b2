package main

import (
	"context"
	_ "embed"
	"strconv"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// limit is what each tenant may: so many units per period, and burst at once.
type limit struct {
	rate   int
	period time.Duration
	burst  int
}

// decide takes one unit of a tenant's limit.
type decide func(ctx context.Context, tenant string) (allowed bool, err error)

// contender is one way to share a limit through Redis.
type contender struct {
	name string
	// open connects to the server at addr as a process does when it starts, and returns how to leave it too.
	open func(addr string, l limit) (decide, func() error, error)
}

var (
	viaRueidis  = contender{"rueidis, GCRA script", openRueidis}
	viaRate     = contender{"redis_rate on go-redis, pool of 64", openRate}
	viaPool     = contender{"go-redis, pool of 64, GCRA script", openPool}
	viaPipeline = contender{"go-redis AutoPipeline, GCRA script", openPipeline}
	ours        = contender{"redisquota: bucket, daily quota, cluster", openOurs}
	leased      = contender{"the same with leases", openLeased}

	contenders = []contender{viaRueidis, viaRate, viaPool, viaPipeline, ours, leased}
)

// gcra is the whole of a limiter as a careful user would write it: one key, the server's clock, one number as the reply.
//
//go:embed gcra.lua
var gcra string

// arguments are those of gcra.
func (l limit) arguments() (interval, tolerance string) {
	each := l.period.Microseconds() / int64(l.rate)
	return strconv.FormatInt(each, 10), strconv.FormatInt(each*int64(l.burst), 10)
}

func openRueidis(addr string, l limit) (decide, func() error, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		return nil, nil, err
	}
	script := rueidis.NewLuaScript(gcra)
	interval, tolerance := l.arguments()
	d := func(ctx context.Context, tenant string) (bool, error) {
		owed, err := script.Exec(ctx, client, []string{"rate:" + tenant}, []string{interval, tolerance}).AsInt64()
		return err == nil && owed >= 0, err
	}
	return d, func() error { client.Close(); return nil }, nil
}

func pooled(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: goroutines})
}

func openRate(addr string, l limit) (decide, func() error, error) {
	client := pooled(addr)
	limiter := redis_rate.NewLimiter(client)
	limited := redis_rate.Limit{Rate: l.rate, Period: l.period, Burst: l.burst}
	d := func(ctx context.Context, tenant string) (bool, error) {
		r, err := limiter.Allow(ctx, tenant, limited)
		return err == nil && r.Allowed == 1, err
	}
	return d, client.Close, nil
}

func openPool(addr string, l limit) (decide, func() error, error) {
	client := pooled(addr)
	return runScript(client, l), client.Close, nil
}

func openPipeline(addr string, l limit) (decide, func() error, error) {
	client := pooled(addr)
	pipeline, err := client.AutoPipeline()
	if err != nil {
		return nil, nil, err
	}
	return runScript(pipeline, l), client.Close, nil
}

func runScript(client redis.Scripter, l limit) decide {
	script := redis.NewScript(gcra)
	interval, tolerance := l.arguments()
	return func(ctx context.Context, tenant string) (bool, error) {
		owed, err := script.Run(ctx, client, []string{"rate:" + tenant}, interval, tolerance).Int64()
		return err == nil && owed >= 0, err
	}
}
