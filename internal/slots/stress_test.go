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

func TestPool_StressEndsWithNothingInUse(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		tiers := tiersOf(t, tenant.Tier{Name: "s1", Share: 1}, tenant.Tier{Name: "s2", Share: 2, Ceiling: 4}, tenant.Tier{Name: "s5", Share: 5})
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 6, Tiers: tiers, MaxQueue: 5, MaxWaiting: 20, MaxWait: 30 * time.Millisecond})
		var running, most atomic.Int64
		var wg sync.WaitGroup
		for g := range 40 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 7))
				for range 60 {
					work(p, rng, &running, &most)
				}
			})
		}
		for range 100 {
			time.Sleep(7 * time.Millisecond)
			_ = p.Resize(2 + rand.IntN(5))
			_ = tiers.Assign(fmt.Sprint("t", rand.IntN(8)), []string{"s1", "s2", "s5"}[rand.IntN(3)])
			_ = tiers.Define(tenant.Tier{Name: "s2", Share: 2, Ceiling: 2 + rand.IntN(4)})
			p.Stats()
		}
		wg.Wait()
		wantUse(t, p, 0, 0)
		if n := most.Load(); n > 6 {
			t.Errorf("%d ran at once, capacity never exceeded 6", n)
		}
	})
}

func work(p *slots.Pool, rng *rand.Rand, running, most *atomic.Int64) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rng.IntN(40))*time.Millisecond)
	defer cancel()
	if rng.IntN(4) == 0 {
		time.AfterFunc(time.Duration(rng.IntN(20))*time.Millisecond, cancel)
	}
	who := tenant.Tenant{ID: fmt.Sprint("t", rng.IntN(8)), Tier: []string{"s1", "s2", "s5"}[rng.IntN(3)]}
	var release func()
	var err error
	if rng.IntN(5) == 0 {
		var ok bool
		if release, ok = p.TryAcquire(who); !ok {
			return
		}
	} else if release, err = p.Acquire(ctx, who); err != nil {
		time.Sleep(time.Millisecond)
		return
	}
	defer func() { _ = recover() }()
	defer release()
	n := running.Add(1)
	for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
	}
	time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
	running.Add(-1)
	switch rng.IntN(5) {
	case 0:
		panic("a handler's")
	case 1:
		go release()
	}
}
