package bulkhead

import (
	"context"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

// Config configures a [Bulkhead].
type Config struct {
	// Capacity is how many requests may run at once, 1 to 1,000,000,000.
	Capacity int
	// Tiers is required. Share is the most a tenant may hold, Streams what runs beside; Ceiling is ignored.
	Tiers *tenant.Tiers
	// MaxQueue bounds the waiters of one tenant. 0: 100. Negative: nobody may wait.
	MaxQueue int
	// MaxWaiting bounds the waiters of all tenants together. Where it is reached, the newest waiter of the tenant with
	// the most waiters for its share makes room, so that a flood cannot crowd out a light tenant. 0: 1000. Negative:
	// nobody may wait.
	MaxWaiting int
	// MaxWait bounds a wait. 0: 5 s. Negative: only the deadline of the request's context does.
	MaxWait time.Duration
}

// Bulkhead caps each tenant at its share. It guarantees that no tenant ever holds more; the price is that slots stay
// idle while requests wait for their own share. All methods may be called concurrently. The zero Bulkhead is not
// usable.
type Bulkhead struct{ pool *slots.Pool }

// New returns a bulkhead. The error names every wrong setting, and every tier without a share. It watches cfg.Tiers until
// Close.
func New(cfg Config) (*Bulkhead, error) {
	pool, err := slots.NewPool(slots.Settings{
		Package: "bulkhead", Rule: slots.Hard, Capacity: cfg.Capacity, Tiers: cfg.Tiers,
		MaxQueue: cfg.MaxQueue, MaxWaiting: cfg.MaxWaiting, MaxWait: cfg.MaxWait,
	})
	if err != nil {
		return nil, err
	}
	return &Bulkhead{pool}, nil
}

// Acquire takes a slot for t, and waits for it if need be. Call release when the work is done; calling it again does
// nothing. Without a slot, the error is one of
//
//   - a *[tenant.Refusal]: tenant.ReasonShare where the tenant's own queue is full or it waited too long while it held
//     its share, tenant.ReasonCapacity where the others were in its way, tenant.ReasonClosing. RetryAfter estimates how
//     long the tenant's queue takes. Where ctx's deadline was what bounded the wait, it also matches
//     context.DeadlineExceeded. A request that would wait for too long is refused at once: when the tenant's requests
//     before it, each held for as long as most of them are at least, would on all slots that the tenant may hope for
//     outlast ctx's deadline or Config.MaxWait;
//   - ctx.Err() where ctx was cancelled;
//   - [tenant.ErrInvalidID].
//
// One request must not take two slots of one pool: at full capacity it would wait for itself.
func (b *Bulkhead) Acquire(ctx context.Context, t tenant.Tenant) (release func(), err error) {
	return b.pool.Acquire(ctx, &t, 1)
}

// AcquireN is Acquire of n slots, all at once, for work that takes as much as n requests; n below 1 is an error. Where n is
// more than the tenant may ever hold, it takes as many as that.
//
// Slots that come free are kept for a wide request whose turn it is until there are enough of them, so that narrow ones
// do not overtake it for ever: fewer than n slots are idle for that, until those who hold the others release them.
func (b *Bulkhead) AcquireN(ctx context.Context, t tenant.Tenant, n int) (release func(), err error) {
	return b.pool.Acquire(ctx, &t, n)
}

// AcquireStream counts a request of t among the tenant's streams, of which its tier allows Streams at once; it takes no
// slot and does not wait. Call release when the stream has ended; calling it again does nothing. The error is
// [tenant.ErrInvalidID] or a *[tenant.Refusal]: tenant.ReasonShare where all are in use, tenant.ReasonPlan where the tier
// allows none, tenant.ReasonClosing.
func (b *Bulkhead) AcquireStream(t tenant.Tenant) (release func(), err error) {
	return b.pool.AcquireStream(t)
}

// TryAcquire takes a slot for t if t may have one now, without waiting. release is nil where ok is false.
func (b *Bulkhead) TryAcquire(t tenant.Tenant) (release func(), ok bool) { return b.pool.TryAcquire(t) }

// Resize changes the capacity; 1 or more. Where more than the new capacity is held, nobody is interrupted: slots are
// granted again once enough were released.
func (b *Bulkhead) Resize(capacity int) error { return b.pool.Resize(capacity) }

// Stats returns what is held and waits, at one instant. It lists every tenant seen in the last ten seconds.
func (b *Bulkhead) Stats() tenant.SlotStats { return b.pool.Stats() }

// TierOf returns the name of the tier that applies to t, given the assertions seen of it lately.
func (b *Bulkhead) TierOf(t tenant.Tenant) string { return b.pool.TierOf(t) }

// Tiers returns the catalogue of Config.
func (b *Bulkhead) Tiers() *tenant.Tiers { return b.pool.Tiers() }

// Drain refuses every new Acquire (tenant.ReasonClosing), for good, and waits until nothing waits or is held: then it
// returns nil. It does not wait for streams. Where ctx ends first it returns ctx.Err(); who waits or holds by then is left alone.
func (b *Bulkhead) Drain(ctx context.Context) error { return b.pool.Drain(ctx) }

// Close refuses every new Acquire and answers all waiters (tenant.ReasonClosing). Slots that are held stay held until
// they are released. Close may be called more than once.
func (b *Bulkhead) Close() { b.pool.Close() }
