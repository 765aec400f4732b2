package main

import (
	"context"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// The cluster's bucket and the daily quota are judged with every decision, and have room for all.
const (
	clusterRate = 100_000_000
	daily       = 1_000_000_000_000
)

// openMemory is the limiter in this process.
func openMemory(l limit) (decide, func(), error) { return limitWith(nil, l) }

// limitWith returns a limiter on a store, and how to close the limiter; nil: one in this process.
func limitWith(store quota.Store, l limit) (decide, func(), error) {
	const plan = "plan"
	tiers, err := tenant.NewTiers(plan, tenant.Tier{
		Name:   plan,
		Rate:   float64(l.rate) / l.period.Seconds(),
		Burst:  l.burst,
		Quotas: tenant.Quotas{Day: daily},
	})
	if err != nil {
		return nil, nil, err
	}
	limiter, err := quota.New(quota.Config{
		Tiers:  tiers,
		Global: quota.Rate{PerSecond: clusterRate, Burst: clusterRate},
		Store:  store,
	})
	if err != nil {
		return nil, nil, err
	}
	d := func(ctx context.Context, id string) (bool, error) {
		decision, err := limiter.Take(ctx, tenant.Tenant{ID: id}, quota.DefaultOperation)
		return decision.Allowed, err
	}
	return d, limiter.Close, nil
}
