package fairslots_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/tenant"
)

// tiered returns a pool of ten slots with tiers std, capped (at most four slots) and live (two streams).
func tiered(t *testing.T) (*fairslots.Pool, *tenant.Tiers) {
	t.Helper()
	tiers, err := tenant.NewTiers("std", tenant.Tier{Name: "std", Share: 2},
		tenant.Tier{Name: "capped", Share: 2, Ceiling: 4}, tenant.Tier{Name: "live", Share: 2, Streams: 2})
	if err != nil {
		t.Fatal(err)
	}
	p, err := fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers, MaxWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, tiers
}

// reason is what an error refuses for; "": it is no refusal.
func reason(err error) tenant.Reason {
	if r, ok := errors.AsType[*tenant.Refusal](err); ok {
		return r.Reason
	}
	return tenant.ReasonNone
}

func TestPool_AcquireNTakesAllAtOnceAndNoMoreThanTheTenantMayHold(t *testing.T) {
	p, _ := tiered(t)
	for _, tt := range []struct {
		tier    string
		n, want int
	}{{"std", 1, 1}, {"std", 3, 3}, {"std", 10, 10}, {"std", 1 << 40, 10}, {"capped", 4, 4}, {"capped", 5, 4}} {
		release, err := p.AcquireN(t.Context(), tenant.Tenant{ID: tt.tier, Tier: tt.tier}, tt.n)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Stats().InUse; got != tt.want {
			t.Errorf("%d slots of tier %s: %d are in use, want %d", tt.n, tt.tier, got, tt.want)
		}
		release()
		release()
		if got := p.Stats().InUse; got != 0 {
			t.Errorf("%d slots in use after the release", got)
		}
	}
}

func TestPool_AcquireNWantsAtLeastOneSlotAndAValidID(t *testing.T) {
	p, _ := tiered(t)
	for _, n := range []int{0, -1} {
		if _, err := p.AcquireN(t.Context(), tenant.Tenant{ID: "acme"}, n); err == nil || reason(err) != tenant.ReasonNone {
			t.Errorf("AcquireN of %d: %v, want an error that is no refusal", n, err)
		}
	}
	if _, err := p.AcquireN(t.Context(), tenant.Tenant{ID: "a b"}, 2); !errors.Is(err, tenant.ErrInvalidID) {
		t.Errorf("AcquireN for a bad ID: %v", err)
	}
}

func TestPool_WideRequestIsNotStarvedByNarrowOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 10, map[string]int{"narrow": 5, "wide": 5})
		ctx, stop := context.WithCancel(t.Context())
		held := flood(ctx, p, "narrow", 100)
		time.Sleep(210 * time.Millisecond)
		for range 5 {
			start := time.Now()
			release, err := p.AcquireN(t.Context(), tenant.Tenant{ID: "wide", Tier: "wide"}, 5)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > hold {
				t.Errorf("five of ten slots, a share of five: waited %v, want at most what the others hold one for", took)
			}
			time.Sleep(hold / 2)
			release()
			time.Sleep(50 * time.Millisecond)
		}
		stop()
		held()
	})
}

func TestPool_WideWaiterThatLeavesFreesWhatWasKeptForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 4, map[string]int{"a": 2, "b": 2})
		release, err := p.AcquireN(t.Context(), tenant.Tenant{ID: "a", Tier: "a"}, 3)
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := p.AcquireN(ctx, tenant.Tenant{ID: "b", Tier: "b"}, 2)
			left <- err
		}()
		synctest.Wait()
		if _, ok := p.TryAcquire(tenant.Tenant{ID: "a", Tier: "a"}); ok {
			t.Error("the slot that is kept for the wide request went to a tenant above its share")
		}
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("AcquireN: %v", err)
		}
		last, ok := p.TryAcquire(tenant.Tenant{ID: "a", Tier: "a"})
		if !ok {
			t.Fatal("the slot is not free once nobody waits")
		}
		last()
		release()
	})
}

func TestPool_StreamsAreBoundedByTheTierAndTakeNoSlot(t *testing.T) {
	p, tiers := tiered(t)
	live := tenant.Tenant{ID: "acme", Tier: "live"}
	var ends []func()
	for range 2 {
		end, err := p.AcquireStream(live)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if st := p.Stats(); st.Streams != 2 || st.InUse != 0 || st.Tenants[0].Streams != 2 {
		t.Errorf("stats %+v, want two streams and no slot", st)
	}
	if _, err := p.AcquireStream(live); reason(err) != tenant.ReasonShare {
		t.Errorf("a third stream: %v, want a refusal for share", err)
	}
	if _, err := p.AcquireStream(tenant.Tenant{ID: "globex", Tier: "std"}); reason(err) != tenant.ReasonPlan {
		t.Errorf("a stream on a tier without: %v, want a refusal for plan", err)
	}
	if _, err := p.AcquireStream(tenant.Tenant{ID: "a b", Tier: "live"}); !errors.Is(err, tenant.ErrInvalidID) {
		t.Errorf("a stream for a bad ID: %v", err)
	}
	ends[0]()
	ends[0]() // does nothing: the other goes on
	if err := tiers.Assign("acme", "std"); err != nil {
		t.Fatal(err)
	}
	if st := p.Stats(); st.Streams != 1 {
		t.Errorf("%d streams after one ended and the tier changed, want 1", st.Streams)
	}
	if err := p.Drain(t.Context()); err != nil {
		t.Errorf("Drain while a stream goes on: %v", err)
	}
	if _, err := p.AcquireStream(live); reason(err) != tenant.ReasonClosing {
		t.Errorf("a stream of a drained pool: %v, want a refusal for closing", err)
	}
	ends[1]()
	if st := p.Stats(); st.Streams != 0 {
		t.Errorf("%d streams at the end", st.Streams)
	}
}
