package slots

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// The defaults of [Settings], for a zero field.
const (
	DefaultMaxQueue   = 100
	DefaultMaxWaiting = 1000
	DefaultMaxWait    = 5 * time.Second
)

// MaxCapacity bounds a pool.
const MaxCapacity = 1_000_000_000

// spins is how often lock looks whether the lock is free, before it sleeps: for about a microsecond.
const spins = 1000

// maxSpare bounds how many requests a pool keeps for use again.
const maxSpare = 256

// Settings are the common part of the configurations of bulkheads and fair pools.
type Settings struct {
	Package    string // the prefix of errors
	Rule       Rule
	Capacity   int
	Tiers      *tenant.Tiers
	MaxQueue   int
	MaxWaiting int
	MaxWait    time.Duration
}

// Pool is the shell of a [Core]: it reads the clock, takes the lock, and blocks. All methods may be called
// concurrently.
//
// The lock is held for one step of the core at a time, never across a wait or a call into foreign code but that of the
// catalogue. A waiter is told what was decided over a channel of its own, exactly once: by whoever's step of the core
// decided it, as soon as that has given up the lock. So a waiter whose context ends knows, once it has the lock, which of
// the two was first, and that it will be told at once if the context was not.
type Pool struct {
	pkg   string
	start time.Time
	tiers *tenant.Tiers
	stop  func() // ceases to watch tiers

	mu      sync.Mutex
	core    *Core
	spare   []*Request
	timer   *time.Timer
	armed   int64         // when timer fires
	drained chan struct{} // closed once a draining pool is idle
}

// NewPool returns a pool, or an error that names each wrong setting.
func NewPool(s Settings) (*Pool, error) {
	p := &Pool{pkg: s.Package, start: time.Now(), tiers: s.Tiers, armed: Never, drained: make(chan struct{})}
	var errs []error
	if err := p.checkCapacity(s.Capacity); err != nil {
		errs = append(errs, err)
	}
	if s.Tiers == nil {
		errs = append(errs, fmt.Errorf("%s: Tiers is nil, want a catalogue from tenant.NewTiers", p.pkg))
	} else {
		p.core = New(Config{
			Rule: s.Rule, Capacity: s.Capacity, Tiers: s.Tiers,
			MaxQueue:   Bound(s.MaxQueue, DefaultMaxQueue),
			MaxWaiting: Bound(s.MaxWaiting, DefaultMaxWaiting),
			MaxWait:    int64(Bound(s.MaxWait, DefaultMaxWait)),
		})
		stop, err := s.Tiers.Watch(p)
		if err != nil {
			errs = append(errs, err)
		}
		p.stop = stop
	}
	if err := errors.Join(errs...); err != nil {
		if p.stop != nil {
			p.stop()
		}
		return nil, err
	}
	return p, nil
}

// Bound returns the default for zero, and zero for a negative setting.
func Bound[T int | time.Duration](setting, byDefault T) T {
	if setting == 0 {
		return byDefault
	}
	return max(setting, 0)
}

func (p *Pool) checkCapacity(capacity int) error {
	if capacity < 1 || capacity > MaxCapacity {
		return fmt.Errorf("%s: Capacity is %d, want 1 to %d", p.pkg, capacity, MaxCapacity)
	}
	return nil
}

// CheckTier refuses a tier without a share.
func (p *Pool) CheckTier(t tenant.Tier) error {
	if t.Share < 1 {
		return fmt.Errorf("%s: tier %s: Share is %d, want at least 1", p.pkg, t.Name, t.Share)
	}
	return nil
}

// TierChanged takes in what the catalogue says now, and wakes waiters that may run by it.
func (p *Pool) TierChanged(id string) {
	now := p.now()
	p.mu.Lock()
	p.core.Retune(now, id)
	p.unlock()
}

// Resize changes the capacity. What is held beyond a lower one drains.
func (p *Pool) Resize(capacity int) error {
	if err := p.checkCapacity(capacity); err != nil {
		return err
	}
	now := p.now()
	p.mu.Lock()
	p.core.Resize(now, capacity)
	p.unlock()
	return nil
}

// Drain refuses new requests, and waits until nothing is held and nobody waits, or until ctx ends.
func (p *Pool) Drain(ctx context.Context) error {
	p.mu.Lock()
	p.core.Drain()
	p.unlock()
	select {
	case <-p.drained:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-p.drained: // both happened: done is done
		return nil
	default:
		return ctx.Err()
	}
}

// Close refuses new requests and all waiters, and lets go of the catalogue and the timer. What is held stays held
// until it is released.
func (p *Pool) Close() {
	defer p.stop() // last: the catalogue asks about tiers as long as a request may come in
	p.mu.Lock()
	p.core.Close()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.unlock()
}

// Stats returns what the pool holds now.
func (p *Pool) Stats() tenant.SlotStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.core.Stats()
}

// TierOf returns the name of the tier that applies to t: with an assertion that the pool saw earlier, if that is later.
func (p *Pool) TierOf(t tenant.Tenant) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.core.TierOf(t)
}

// Tiers returns the catalogue that the pool uses.
func (p *Pool) Tiers() *tenant.Tiers { return p.tiers }

// now is the time since the pool was made, on the monotonic clock.
func (p *Pool) now() int64 { return int64(time.Since(p.start)) }

// lock takes the lock. A step of the core takes less time than to put a goroutine to sleep and to wake it again. A
// sync.Mutex would wait actively for some time too, but not while other goroutines are ready to run, as they always are
// where a pool is full.
func (p *Pool) lock() {
	if !p.mu.TryLock() {
		p.spin()
	}
}

func (p *Pool) spin() {
	for range spins {
		if p.mu.TryLock() {
			return
		}
	}
	p.mu.Lock()
}

// unlock gives up the lock after a step of the core. It sees to the timer before, and afterwards tells those whom the
// step decided about.
func (p *Pool) unlock() {
	if p.core.Closing() && p.core.Idle() {
		p.finishDrainLocked()
	}
	if at := p.core.Next(); at < p.armed {
		p.armLocked(at)
	}
	if len(p.core.decided) == 0 {
		p.mu.Unlock()
		return
	}
	var first *Request // as a rule the only one
	var others []*Request
	p.core.Decided(func(r *Request) {
		if first == nil {
			first = r
		} else {
			others = append(others, r)
		}
	})
	p.mu.Unlock()
	first.decided <- struct{}{} // never blocks: a waiter is decided about once
	for _, r := range others {
		r.decided <- struct{}{}
	}
}

func (p *Pool) finishDrainLocked() {
	select {
	case <-p.drained:
	default:
		close(p.drained)
	}
}

// armLocked makes the timer fire at the given time. It is not put off when what it was armed for goes away: it fires
// then, and is armed for what comes next, so that the common path leaves it alone.
func (p *Pool) armLocked(at int64) {
	p.armed = at
	wait := time.Duration(at - p.now())
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.tick)
	} else {
		p.timer.Reset(wait)
	}
}

// tick is the timer's function.
func (p *Pool) tick() {
	now := p.now()
	p.mu.Lock()
	p.armed = Never
	p.core.Tick(now)
	p.unlock()
}
