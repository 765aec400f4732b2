package slots_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

// Everything at once, for the race detector, and the end at a random moment: whatever happens, nothing is in use then and
// nobody hangs.
func TestPool_StressEndsWithNothingInUse(t *testing.T) {
	for name, rule := range bothRules { // real goroutines meet in more orders than those of a bubble
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				tiers := tiersOf(t, tenant.Tier{Name: "s1", Share: 1, Streams: 1}, tenant.Tier{Name: "s2", Share: 2, Ceiling: 4},
					tenant.Tier{Name: "s5", Share: 5, Streams: 3})
				p := newPool(t, slots.Settings{
					Rule: rule, Capacity: 6, Tiers: tiers, MaxQueue: 5, MaxWaiting: 20, MaxWait: 10 * time.Millisecond,
				})
				s := stress{pool: p}
				var wg sync.WaitGroup
				for g := range uint64(30) {
					wg.Go(func() {
						rng := rand.New(rand.NewPCG(g, seed))
						for range 40 {
							s.request(rng)
						}
					})
				}
				rng := rand.New(rand.NewPCG(seed, 99))
				end := time.After(time.Duration(rng.IntN(100)) * time.Millisecond)
				for ended := false; !ended; {
					select {
					case <-end:
						p.Close()
						ended = true
					case <-time.After(time.Millisecond):
						_ = p.Resize(1 + rng.IntN(6))
						_ = tiers.Assign(fmt.Sprint("t", rng.IntN(8)), []string{"s1", "s2", "s5"}[rng.IntN(3)])
						_ = tiers.Define(tenant.Tier{Name: "s2", Share: 2, Ceiling: 2 + rng.IntN(4), Streams: rng.IntN(2)})
						p.Stats()
					}
				}
				wg.Wait()
				s.releasing.Wait()
				if err := p.Drain(t.Context()); err != nil {
					t.Error(err)
				}
				wantUse(t, p, 0, 0)
				if n := p.Stats().Streams; n != 0 {
					t.Errorf("%d streams at the end", n)
				}
				if n := s.most.Load(); n > 6 {
					t.Errorf("%d ran at once, capacity never exceeded 6", n)
				}
			})
		}
	}
}

type stress struct {
	pool          *slots.Pool
	running, most atomic.Int64
	releasing     sync.WaitGroup
}

// request is one that may be wide, a stream, cancelled, late, panic, or release twice at a time.
func (s *stress) request(rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(15_000))*time.Microsecond)
	defer cancel()
	if rng.IntN(4) == 0 {
		time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, cancel)
	}
	who := tenant.Tenant{ID: fmt.Sprint("t", rng.IntN(8)), Tier: []string{"s1", "s2", "s5"}[rng.IntN(3)]}
	var release func()
	var err error
	streams := false
	switch rng.IntN(6) {
	case 0:
		var ok bool
		if release, ok = s.pool.TryAcquire(who); !ok {
			return
		}
	case 1:
		streams = true
		release, err = s.pool.AcquireStream(who)
	case 2:
		release, err = s.pool.Acquire(ctx, &who, 1+rng.IntN(8))
	default:
		release, err = s.pool.Acquire(ctx, &who, 1)
	}
	if err != nil {
		return
	}
	defer func() { _ = recover() }()
	defer release()
	if !streams {
		n := s.running.Add(1)
		defer s.running.Add(-1) // before the release
		for seen := s.most.Load(); n > seen && !s.most.CompareAndSwap(seen, n); seen = s.most.Load() {
		}
	}
	time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
	switch rng.IntN(5) {
	case 0:
		panic("a handler's")
	case 1:
		if streams {
			s.releasing.Go(release) // beside the deferred one
		}
	case 2:
		defer s.releasing.Go(release) // after it
	}
}
