package quota

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// unavailableFor is how long a caller is told to wait where the store failed.
const unavailableFor = time.Second

// Limiter decides how often: whether a tenant's bucket, the calendar quotas of its tier and the bucket that all tenants
// share hold the cost of an operation.
//
// It decides all or nothing: what is refused takes nothing from any limit. All methods may be called concurrently.
// [New] makes one; the zero Limiter is not usable.
type Limiter struct {
	tiers     *tenant.Tiers
	costs     Costs
	otherwise int   // the cost of an operation that is not in costs
	distinct  []int // the costs there are, ascending
	cluster   Rate
	reserve   float64
	store     Store
	own       *Memory // nil: the store is the caller's
	unwatch   func()
	batches   sync.Pool // of *[1]Call, for the store takes a slice through an interface

	counted atomic.Uint32 // a WindowSet; only ever grows
}

// New returns a limiter. The error names everything that is wrong with cfg.
func New(cfg Config) (*Limiter, error) {
	if cfg.Global.PerSecond == tenant.Unlimited {
		cfg.Global = Rate{}
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	l := &Limiter{
		tiers:     cfg.Tiers,
		costs:     maps.Clone(cfg.Costs),
		otherwise: 1,
		cluster:   cfg.Global,
		reserve:   cfg.GlobalReserve,
		store:     cfg.Store,
		batches:   sync.Pool{New: func() any { return new([1]Call) }},
	}
	if cost, ok := cfg.Costs[DefaultOperation]; ok {
		l.otherwise = cost
	}
	l.distinct = append(slices.Collect(maps.Values(l.costs)), l.otherwise)
	slices.Sort(l.distinct)
	l.distinct = slices.Compact(l.distinct)
	if l.store == nil {
		l.own = NewMemory(cfg.Now)
		l.store = l.own
	}
	unwatch, err := l.tiers.Watch((*watcher)(l))
	if err != nil {
		return nil, err
	}
	l.unwatch = unwatch
	return l, nil
}

// Close makes the limiter stop watching its catalogue of tiers, and closes the store unless that was given to it. A
// closed limiter still decides; a store in this process then forgets idle tenants only while others come, and settles a
// change of the catalogue when it next sees the tenant. Close may be called twice.
func (l *Limiter) Close() {
	l.unwatch()
	if l.own != nil {
		_ = l.own.Close() // never fails
	}
}

// Take decides about one operation of tenant t, and takes its cost from every limit if it is allowed. A refusal is a
// [Decision] with Allowed false, and no error; so is a store that failed (tenant.ReasonUnavailable). The error is
// [tenant.ErrInvalidID], or the context's where it ended.
func (l *Limiter) Take(ctx context.Context, t tenant.Tenant, operation string) (d Decision, err error) {
	err = l.decide(ctx, &d, &t, operation, false)
	return d, err
}

// Peek returns what Take would decide, as things are: it takes nothing and changes nothing, and Remaining and the like
// are what they are before a Take.
func (l *Limiter) Peek(ctx context.Context, t tenant.Tenant, operation string) (d Decision, err error) {
	err = l.decide(ctx, &d, &t, operation, true)
	return d, err
}

// decide fills in d, which is zero; on an error it leaves it so.
func (l *Limiter) decide(ctx context.Context, d *Decision, t *tenant.Tenant, operation string, peek bool) error {
	if err := check(ctx, t.ID); err != nil {
		return err
	}
	cost := l.cost(operation)
	call := Call{Tenant: t.ID, Cost: cost, Peek: peek}
	call.Asserted.Tier, call.Asserted.AsOf = t.Tier, t.TierAsOf
	err := l.ask(ctx, &call)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	d.Tenant, d.Operation, d.Cost = t.ID, operation, cost
	if err != nil {
		d.Tier = l.tiers.For(*t).Name
		d.Reason, d.RetryAfter = tenant.ReasonUnavailable, unavailableFor
		return nil
	}
	d.fill(&call.Result)
	d.by = l
	return nil
}

// ask has the store decide one call. What goes through an interface goes to the heap, so a store of another package
// gets a batch that is used again; our own gets the caller's.
func (l *Limiter) ask(ctx context.Context, call *Call) error {
	rules := l.rules()
	if l.own != nil {
		l.own.take(&rules, call, l.own.nowFor(&rules))
		return nil
	}
	batch := l.batches.Get().(*[1]Call)
	defer l.batches.Put(batch)
	batch[0] = *call
	err := l.store.Take(ctx, rules, batch[:])
	*call, batch[0] = batch[0], Call{}
	return err
}

// cost returns what an operation costs.
func (l *Limiter) cost(operation string) int {
	if cost, ok := l.costs[operation]; ok {
		return cost
	}
	return l.otherwise
}

func (l *Limiter) rules() Rules {
	return Rules{
		Tiers: l.tiers, Cluster: l.cluster, Reserve: l.reserve, Costs: l.distinct,
		Counted: WindowSet(l.counted.Load()),
	}
}

// SetTier assigns tenant id the tier called name, in the store and so for every limiter that shares it. It wins over
// what the tenant's credential says, and over an earlier [tenant.Tiers.Assign]; of the two the later holds. The bucket
// is settled: it keeps what it holds, as far as the new burst has room. An empty name takes the assignment back. An
// invalid ID or an unknown name is an error.
func (l *Limiter) SetTier(ctx context.Context, id, name string) error {
	if err := check(ctx, id); err != nil {
		return err
	}
	if _, ok := l.tiers.Lookup(name); !ok && name != "" {
		return fmt.Errorf("quota: no tier %.140q", name)
	}
	return l.store.SetTier(ctx, l.rules(), id, tenant.Assertion{Tier: name, AsOf: l.tiers.Stamp()})
}

// Tiers returns the catalogue of Config.
func (l *Limiter) Tiers() *tenant.Tiers { return l.tiers }

// Reset makes the bucket of tenant id full. Calendar usage and assignments stay.
func (l *Limiter) Reset(ctx context.Context, id string) error {
	if err := check(ctx, id); err != nil {
		return err
	}
	return l.store.Reset(ctx, l.rules(), id)
}

func check(ctx context.Context, id string) error {
	if err := tenant.CheckID(id); err != nil {
		return err
	}
	return ctx.Err()
}

// watcher is the limiter as the catalogue of tiers sees it.
type watcher Limiter

// CheckTier implements [tenant.Watcher]. It counts the tier's windows from here on, so that none of its requests goes
// uncounted between its definition and TierChanged; counting one in vain does no harm.
func (w *watcher) CheckTier(t tenant.Tier) error {
	if err := checkTier(t); err != nil {
		return err
	}
	w.counted.Or(uint32(limited(&t.Quotas)))
	return nil
}

// TierChanged implements [tenant.Watcher]. An error of the store loses nothing but the moment: it settles the tenant
// when it next sees it.
func (w *watcher) TierChanged(id string) {
	_ = w.store.Settle(context.Background(), (*Limiter)(w).rules(), id)
}
