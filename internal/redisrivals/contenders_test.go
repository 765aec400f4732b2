package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

// opened returns a contender on a server of its own.
func opened(t *testing.T, c contender, l limit) decide {
	t.Helper()
	s := redistest.Start(t)
	d, closeAll, err := c.open(s.Addr(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// A comparison with a rival that admits more, or shares a limit between tenants, would be void.
func TestContenders_AdmitEachTenantsBurstAndNoMore(t *testing.T) {
	for _, c := range contenders {
		t.Run(c.name, func(t *testing.T) {
			d := opened(t, c, limit{rate: 1, period: time.Hour, burst: 5})
			for _, id := range []string{"acme", "globex"} {
				for i := range 8 {
					allowed, err := d(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					if want := i < 5; allowed != want {
						t.Errorf("%s, decision %d of a burst of 5: allowed is %v, want %v", id, i+1, allowed, want)
					}
				}
			}
		})
	}
}

func TestContenders_AdmitTheBurstUnderContention(t *testing.T) {
	const burst = 1000
	for _, c := range contenders {
		t.Run(c.name, func(t *testing.T) {
			d := opened(t, c, limit{rate: 1, period: time.Hour, burst: burst})
			var admitted atomic.Int64
			var all sync.WaitGroup
			for range goroutines {
				all.Go(func() {
					for range 2 * burst / goroutines {
						allowed, err := d(t.Context(), "acme")
						if err != nil {
							t.Error(err)
							return
						}
						if allowed {
							admitted.Add(1)
						}
					}
				})
			}
			all.Wait()
			if got := admitted.Load(); got != burst {
				t.Errorf("%d admitted, want %d", got, burst)
			}
		})
	}
}

// A measurement during which somebody is refused, or fails, says so.
func TestHammer_FailsWhereADecisionIsRefused(t *testing.T) {
	d := func(context.Context, string) (bool, error) { return false, nil }
	if _, err := hammer(d, time.Minute); err == nil {
		t.Error("no error, want errRefused")
	}
}

func TestHistogram_HasQuantilesToWithinAStep(t *testing.T) {
	var h histogram
	for i := range 100_000 {
		h.record(time.Duration(i) * time.Microsecond)
	}
	for _, q := range []float64{0, 0.5, 0.99, 0.999} {
		t.Run(fmt.Sprint(q), func(t *testing.T) {
			want := time.Duration(q*100_000) * time.Microsecond
			if got := h.quantile(q); got > want || got < want-want/steps {
				t.Errorf("got %v, want %v or up to a %dth less", got, want, steps)
			}
		})
	}
}
