package flood

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tenantgate/tenantgate/tenant"
)

// Shared is one semaphore for all tenants, first come first served: what a service has that limits its concurrency and
// nothing more.
type Shared struct {
	slots   chan struct{} // holds an element for each slot in use; the channel serves blocked senders in their order
	waiting atomic.Int64
}

// NewShared returns a semaphore of the given capacity.
func NewShared(capacity int) *Shared { return &Shared{slots: make(chan struct{}, capacity)} }

// Acquire waits for a slot until ctx ends. It does not look at the tenant.
func (s *Shared) Acquire(ctx context.Context, _ tenant.Tenant) (release func(), err error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case s.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-s.slots }), nil
	case <-ctx.Done():
		return nil, refusal(ctx.Err())
	}
}

// Stats returns the totals; it knows no tenants.
func (s *Shared) Stats() tenant.SlotStats {
	return tenant.SlotStats{Capacity: cap(s.slots), InUse: len(s.slots), Waiting: int(s.waiting.Load())}
}

// refusal is the error of a request whose context ended while it waited.
func refusal(ended error) error {
	if errors.Is(ended, context.Canceled) {
		return ended
	}
	return &tenant.Refusal{Reason: tenant.ReasonCapacity, Cause: ended}
}
