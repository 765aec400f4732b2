package quota_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Costs and a bucket that all tenants share.
func ExampleNew() {
	tiers, err := tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Quotas: tenant.Quotas{Day: 10_000}},
		tenant.Tier{Name: "pro", Rate: 20, Burst: 60},
	)
	if err != nil {
		panic(err)
	}
	limiter, err := quota.New(quota.Config{
		Tiers:  tiers,
		Costs:  quota.Costs{"GET /search": 5, "POST /exports": 25},
		Global: quota.Rate{PerSecond: 1000, Burst: 1000},
	})
	if err != nil {
		panic(err)
	}
	defer limiter.Close()

	acme := tenant.Tenant{ID: "acme", Tier: "free"}
	for _, operation := range []string{"GET /search", "GET /", "POST /exports"} {
		d, err := limiter.Take(context.Background(), acme, operation)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s costs %d: allowed %t, %d of %d left, reason %q\n", operation, d.Cost, d.Allowed, d.Remaining, d.Limit, d.Reason)
	}
	// Output:
	// GET /search costs 5: allowed true, 5 of 10 left, reason ""
	// GET / costs 1: allowed true, 4 of 10 left, reason ""
	// POST /exports costs 25: allowed false, 4 of 10 left, reason "plan"
}

// A worker that puts a job off where its tenant's plan does not allow it yet.
func ExampleLimiter_Take() {
	limiter, stop := exampleLimiter()
	defer stop()
	work := func(ctx context.Context, t tenant.Tenant, job int) error {
		d, err := limiter.Take(ctx, t, "POST /exports")
		switch {
		case err != nil:
			return err
		case d.RetryAfter == quota.Never:
			return fmt.Errorf("job %d is refused for good: %s", job, d.Reason)
		case !d.Allowed:
			fmt.Printf("job %d is put off for %v by %q\n", job, d.RetryAfter, d.Policy)
		default:
			fmt.Printf("job %d is done, %d units are left\n", job, d.Remaining)
		}
		return nil
	}
	for job := range 3 {
		if err := work(context.Background(), tenant.Tenant{ID: "acme"}, job); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// job 0 is done, 10 units are left
	// job 1 is done, 0 units are left
	// job 2 is put off for 5s by "batch"
}

// What a request took is given back where it was not served.
func ExampleLimiter_Refund() {
	limiter, stop := exampleLimiter()
	defer stop()
	serve := func(ctx context.Context) error {
		d, err := limiter.Take(ctx, tenant.Tenant{ID: "acme"}, "POST /exports")
		if err != nil || !d.Allowed {
			return fmt.Errorf("refused: %w", err)
		}
		fmt.Println(d.Remaining, "left after Take")
		// ... and the service turns out to be full.
		err = limiter.Refund(context.WithoutCancel(ctx), &d) // also if the client has left
		fmt.Println(d.Remaining, "left after Refund")
		return err
	}
	if err := serve(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 10 left after Take
	// 20 left after Refund
}

// Peek shows how things stand, and takes nothing.
func ExampleLimiter_Peek() {
	limiter, stop := exampleLimiter()
	defer stop()
	for range 3 {
		d, err := limiter.Peek(context.Background(), tenant.Tenant{ID: "acme"}, "POST /exports")
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Allowed, d.Remaining)
	}
	// Output:
	// true 20
	// true 20
	// true 20
}

// A store in this process that two limiters share, for two gates with one allowance.
func ExampleNewMemory() {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 1, Burst: 2})
	if err != nil {
		panic(err)
	}
	store := quota.NewMemory(nil)
	defer store.Close()
	for _, gate := range []string{"public", "internal"} {
		limiter, err := quota.New(quota.Config{Tiers: tiers, Store: store})
		if err != nil {
			panic(err)
		}
		defer limiter.Close()
		d, err := limiter.Take(context.Background(), tenant.Tenant{ID: "acme"}, "GET /")
		if err != nil {
			panic(err)
		}
		fmt.Println(gate, d.Allowed, d.Remaining)
	}
	// Output:
	// public true 1
	// internal true 0
}

// audited is a store that reports refusals.
type audited struct{ quota.Store }

func (s audited) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	err := s.Store.Take(ctx, rules, calls)
	for _, c := range calls {
		if err == nil && !c.Result.Allowed {
			fmt.Printf("audit: %s on %s refused: %s\n", c.Tenant, c.Result.Tier.Name, c.Result.Reason)
		}
	}
	return err
}

// A store that wraps another.
func ExampleStore() {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 1, Burst: 1})
	if err != nil {
		panic(err)
	}
	limiter, err := quota.New(quota.Config{Tiers: tiers, Store: audited{quota.NewMemory(nil)}})
	if err != nil {
		panic(err)
	}
	defer limiter.Close()
	for range 2 {
		if _, err := limiter.Take(context.Background(), tenant.Tenant{ID: "acme"}, "GET /"); err != nil {
			panic(err)
		}
	}
	// Output:
	// audit: acme on free refused: tenant
}

// exampleLimiter is on a clock that stands still, lest an output depend on how long an example runs.
func exampleLimiter() (limiter *quota.Limiter, stop func()) {
	tiers, err := tenant.NewTiers("batch", tenant.Tier{Name: "batch", Rate: 2, Burst: 20})
	if err != nil {
		panic(err)
	}
	limiter, err = quota.New(quota.Config{
		Tiers: tiers,
		Costs: quota.Costs{"POST /exports": 10},
		Now:   func() time.Time { return noon },
	})
	if err != nil {
		panic(err)
	}
	return limiter, limiter.Close
}
