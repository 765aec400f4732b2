package fairslots_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/tenant"
)

func benchPool(b *testing.B) *fairslots.Pool {
	b.Helper()
	tiers, err := tenant.NewTiers("std", tenant.Tier{Name: "std", Share: 3})
	if err != nil {
		b.Fatal(err)
	}
	p, err := fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers, MaxQueue: 1 << 20, MaxWaiting: 1 << 20, MaxWait: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Close)
	return p
}

// BenchmarkAcquire is one Acquire and its release.
//
//   - free: slots are free, one goroutine.
//   - contended: 64 goroutines of 8 tenants on 10 slots.
//   - crowd: 10,000 goroutines of 1,000 tenants on 10 slots, nearly all of them waiting.
func BenchmarkAcquire(b *testing.B) {
	b.Run("free", func(b *testing.B) {
		p := benchPool(b)
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			release, err := p.Acquire(ctx, tenant.Tenant{ID: "acme"})
			if err != nil {
				b.Fatal(err)
			}
			release()
		}
	})
	b.Run("contended", func(b *testing.B) { benchCrowd(b, 64, 8) })
	b.Run("crowd", func(b *testing.B) { benchCrowd(b, 10_000, 1_000) })
}

// benchCrowd divides b.N operations between goroutines, each of one tenant. The slots are taken until all of them wait,
// and a holder lets the others run once, so that the queues stay full.
func benchCrowd(b *testing.B, goroutines, tenants int) {
	p := benchPool(b)
	ctx := context.Background()
	var taken []func()
	for range 10 {
		release, ok := p.TryAcquire(tenant.Tenant{ID: "first"})
		if !ok {
			b.Fatal("no free slot")
		}
		taken = append(taken, release)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for i := range goroutines {
		t := tenant.Tenant{ID: fmt.Sprint("t", i%tenants)}
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				release, err := p.Acquire(ctx, t)
				if err != nil {
					b.Error(err)
					return
				}
				runtime.Gosched()
				release()
			}
		})
	}
	for p.Stats().Waiting < min(goroutines, b.N) {
		runtime.Gosched()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, release := range taken {
		release()
	}
	wg.Wait()
}
