package main

import (
	"context"
	"sync"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	failsafe "github.com/failsafe-go/failsafe-go/bulkhead"
	"golang.org/x/sync/semaphore"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/internal/flood"
	"github.com/tenantgate/tenantgate/tenant"
)

const (
	capacity = 10
	// share is what a tenant may hold, or is sure of, where a rival knows tenants.
	share = 3
)

// caller is who asks: a tenant, and its number for those who cannot tell tenants by their IDs.
type caller struct {
	tenant tenant.Tenant
	number int
}

// run calls work on a slot of the caller's, unless ctx ends before there is one. It takes work, rather than returning a
// release, because the API server's queues can be driven in no other way without a goroutine for each request; whoever
// has no need of a release function makes none.
type run func(ctx context.Context, c *caller, work func()) error

// rival is a way to hand out slots.
type rival struct {
	name string
	new  func(tenants int) run
	// slow says that an operation takes from 20 microseconds to milliseconds where many wait.
	slow bool
}

var (
	fair      = rival{name: "fairslots", new: newFair}
	oneQueue  = rival{name: "x/sync semaphore", new: newSemaphore}
	twoQueues = rival{name: "two x/sync semaphores", new: newTwoSemaphores}
	bareTwo   = rival{name: "two x/sync semaphores, bare", new: newBareTwoSemaphores}
	condvar   = rival{name: "condition variable, published rule", new: newPublished, slow: true}
	apiserver = rival{name: "apiserver, a queue per tenant", new: newTenantQueues, slow: true}
)

// rivals are all, in the order in which they are printed.
var rivals = []rival{
	fair,
	{name: "bulkhead", new: newBulkhead},
	oneQueue, twoQueues, bareTwo,
	{name: "channel", new: newChannel},
	{name: "failsafe-go bulkhead", new: newFailsafe},
	{name: "failsafe-go adaptive limiter", new: newAdaptive},
	{name: "apiserver, 64 queues, hand of 8", new: newShuffledQueues, slow: true},
	apiserver, condvar,
}

func plan() *tenant.Tiers {
	return must(tenant.NewTiers("std", tenant.Tier{Name: "std", Share: share}))
}

// pool is what the product's pools have in common, and the rivals that know tenants by their IDs.
type pool interface {
	Acquire(ctx context.Context, t tenant.Tenant) (release func(), err error)
}

func through(p pool) run {
	return func(ctx context.Context, c *caller, work func()) error {
		release, err := p.Acquire(ctx, c.tenant)
		if err != nil {
			return err
		}
		defer release()
		work()
		return nil
	}
}

const unbounded = 1 << 30

func newFair(int) run     { return newShared(plan()) }
func newBulkhead(int) run { return newCapped(plan()) }

func newShared(tiers *tenant.Tiers) run {
	return through(must(fairslots.New(fairslots.Config{
		Capacity: capacity, Tiers: tiers, MaxQueue: unbounded, MaxWaiting: unbounded, MaxWait: -1,
	})))
}

func newCapped(tiers *tenant.Tiers) run {
	return through(must(bulkhead.New(bulkhead.Config{
		Capacity: capacity, Tiers: tiers, MaxQueue: unbounded, MaxWaiting: unbounded, MaxWait: -1,
	})))
}

func newPublished(int) run { return through(flood.NewPublished(capacity, plan())) }

func newSemaphore(int) run {
	all := semaphore.NewWeighted(capacity)
	return func(ctx context.Context, _ *caller, work func()) error {
		if err := all.Acquire(ctx, 1); err != nil {
			return err
		}
		defer all.Release(1)
		work()
		return nil
	}
}

// twoSemaphores is what a service would write to give tenants shares, with the signature of the product's pools: the
// tenant's semaphore, found by the tenant's ID, is taken before that of all.
type twoSemaphores struct {
	all *semaphore.Weighted

	mu    sync.RWMutex
	lanes map[string]*semaphore.Weighted
}

func newTwoSemaphores(int) run {
	return through(&twoSemaphores{all: semaphore.NewWeighted(capacity), lanes: map[string]*semaphore.Weighted{}})
}

func (s *twoSemaphores) Acquire(ctx context.Context, t tenant.Tenant) (release func(), err error) {
	lane := s.lane(t.ID)
	if err := lane.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := s.all.Acquire(ctx, 1); err != nil {
		lane.Release(1)
		return nil, err
	}
	return func() {
		s.all.Release(1)
		lane.Release(1)
	}, nil
}

func (s *twoSemaphores) lane(id string) *semaphore.Weighted {
	s.mu.RLock()
	lane := s.lanes[id]
	s.mu.RUnlock()
	if lane != nil {
		return lane
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[id] == nil {
		s.lanes[id] = semaphore.NewWeighted(share)
	}
	return s.lanes[id]
}

// newBareTwoSemaphores is given the tenant's semaphore and calls both: the least that two semaphores can cost.
func newBareTwoSemaphores(tenants int) run {
	all := semaphore.NewWeighted(capacity)
	lanes := make([]*semaphore.Weighted, tenants)
	for i := range lanes {
		lanes[i] = semaphore.NewWeighted(share)
	}
	return func(ctx context.Context, c *caller, work func()) error {
		lane := lanes[c.number]
		if err := lane.Acquire(ctx, 1); err != nil {
			return err
		}
		defer lane.Release(1)
		if err := all.Acquire(ctx, 1); err != nil {
			return err
		}
		defer all.Release(1)
		work()
		return nil
	}
}

func newChannel(int) run {
	slots := make(chan struct{}, capacity)
	return func(ctx context.Context, _ *caller, work func()) error {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-slots }()
		work()
		return nil
	}
}

func newFailsafe(int) run {
	slots := failsafe.New[any](capacity)
	return func(ctx context.Context, _ *caller, work func()) error {
		if err := slots.AcquirePermit(ctx); err != nil {
			return err
		}
		defer slots.ReleasePermit()
		work()
		return nil
	}
}

// newAdaptive is bound to a limit of 10, so that it does not adapt.
func newAdaptive(int) run {
	slots := adaptivelimiter.NewBuilder[any]().WithLimits(capacity, capacity, capacity).Build()
	return func(ctx context.Context, _ *caller, work func()) error {
		permit, err := slots.AcquirePermit(ctx)
		if err != nil {
			return err
		}
		defer permit.Record()
		work()
		return nil
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
