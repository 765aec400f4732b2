package redisquota

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
)

const (
	// flyingFew is how many calls of the script are under way at once to one server: while it works on one, the next is
	// made and the last is read. More would only make each smaller.
	flyingFew = 2
	// full is how many operations one call carries at most, so that the server is not kept from others for long. Where
	// so many wait, for a server far away, more calls are under way: up to flyingMost.
	full       = 128
	flyingMost = 16
)

// lane is the way to one server. What is asked of it while calls are under way waits, and goes with the next: no
// goroutine of its own does that, one of those who wait makes the call for all.
type lane struct {
	store *Store
	node  *redis.Client // with the store's timeout
	of    *redis.Client // without
	breaker

	mu      sync.Mutex
	flying  int
	waiting []*entry
	ops     int // of waiting
}

// do has the operations of e done, and returns once they are, or cannot be. It takes no longer than two timeouts.
func (l *lane) do(ctx context.Context, e *entry) {
	if err := l.open(); err != nil {
		e.fail(err)
		return
	}
	l.mu.Lock()
	if l.flying >= flyingFew && (l.ops < full || l.flying >= flyingMost) {
		l.waiting = append(l.waiting, e)
		l.ops += len(e.ops)
		l.mu.Unlock()
		if makeIt := <-e.wake; !makeIt {
			return
		}
		l.mu.Lock()
	} else {
		l.flying++
	}
	batch := l.board(e)
	l.mu.Unlock()
	err := errPanicked
	defer func() { // also where the client, or a hook of it, panics: others wait for this
		if err == errPanicked {
			for _, other := range batch {
				other.fail(err)
			}
		}
		l.land(err)
		for _, other := range batch[1:] {
			other.wake <- false
		}
	}()
	err = l.call(ctx, batch)
}

// board returns e, and those of the waiting entries that can go with it.
func (l *lane) board(e *entry) []*entry {
	batch, ops := make([]*entry, 1, 1+min(len(l.waiting), full)), len(e.ops)
	batch[0] = e
	stay := l.waiting[:0]
	for _, other := range l.waiting {
		if ops+len(other.ops) > full || !sameRules(&other.rules, &e.rules) {
			stay = append(stay, other)
			continue
		}
		batch = append(batch, other)
		ops += len(other.ops)
		l.ops -= len(other.ops)
	}
	clear(l.waiting[len(stay):])
	l.waiting = stay
	return batch
}

// land ends a call: the first who waits makes the next. Where the server failed the others are told at once, lest each
// wait for its own timeout.
func (l *lane) land(err error) {
	l.mu.Lock()
	var next *entry
	var lost []*entry
	switch {
	case err != nil:
		lost = l.waiting
		l.waiting, l.ops = nil, 0
		l.flying--
	case len(l.waiting) > 0:
		next = l.waiting[0]
		l.ops -= len(next.ops)
		l.waiting = append(l.waiting[:0], l.waiting[1:]...)
	default:
		l.flying--
	}
	l.mu.Unlock()
	if next != nil {
		next.wake <- true
	}
	for _, e := range lost {
		e.fail(err)
		e.wake <- false
	}
}

// sameRules reports whether two entries can share a call.
func sameRules(a, b *quota.Rules) bool {
	return a.Tiers == b.Tiers && a.Cluster == b.Cluster && a.Reserve == b.Reserve && a.Counted == b.Counted
}
