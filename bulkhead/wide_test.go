package bulkhead_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/tenant"
)

// tiered returns a bulkhead with tiers std and live: shares of four, and two streams for the latter.
func tiered(t *testing.T, capacity int) *bulkhead.Bulkhead {
	t.Helper()
	tiers, err := tenant.NewTiers("std", tenant.Tier{Name: "std", Share: 4, Ceiling: 8}, tenant.Tier{Name: "live", Share: 4, Streams: 2})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bulkhead.New(bulkhead.Config{Capacity: capacity, Tiers: tiers, MaxWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// take takes n slots for a tenant.
func take(t *testing.T, b *bulkhead.Bulkhead, id string, n int) (release func()) {
	t.Helper()
	release, err := b.AcquireN(t.Context(), tenant.Tenant{ID: id}, n)
	if err != nil {
		t.Fatalf("AcquireN of %d for %s: %v", n, id, err)
	}
	return release
}

func TestBulkhead_AcquireNTakesNoMoreThanTheShare(t *testing.T) {
	b := tiered(t, 10)
	for n, want := range map[int]int{1: 1, 3: 3, 4: 4, 5: 4, 1 << 40: 4} {
		release := take(t, b, "acme", n)
		if got := b.Stats().InUse; got != want {
			t.Errorf("AcquireN of %d: %d in use, want %d", n, got, want)
		}
		release()
		release()
		if got := b.Stats().InUse; got != 0 {
			t.Errorf("%d in use after the release", got)
		}
	}
	if _, err := b.AcquireN(t.Context(), tenant.Tenant{ID: "acme"}, 0); err == nil {
		t.Error("AcquireN of 0: no error")
	}
}

// Capacity 5: two of one tenant's slots and two of another's are in use when a wide request comes.
func TestBulkhead_NarrowRequestsDoNotOvertakeAWideOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tiered(t, 5)
		first, second := take(t, b, "a", 2), take(t, b, "b", 2)
		var order []string
		enter := func(id string, n int) {
			go func() {
				release := take(t, b, id, n)
				order = append(order, id)
				time.Sleep(time.Second)
				release()
			}()
			synctest.Wait()
		}
		enter("wide", 3)
		enter("narrow", 1)
		if len(order) != 0 {
			t.Errorf("%v overtook the wide request", order)
		}
		first()
		synctest.Wait()
		if len(order) != 1 || order[0] != "wide" {
			t.Errorf("with three slots free %v run, want the wide request", order)
		}
		second()
		synctest.Wait()
		if len(order) != 2 {
			t.Errorf("with two more free %v run, want the narrow one too", order)
		}
		time.Sleep(2 * time.Second)
		if got := b.Stats().InUse; got != 0 {
			t.Errorf("%d in use at the end", got)
		}
	})
}

func TestBulkhead_WideRequestWaitsInItsOwnLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tiered(t, 10)
		release := take(t, b, "acme", 4)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		go func() {
			synctest.Wait()
			take(t, b, "globex", 4)() // nobody else's concern
		}()
		_, err := b.AcquireN(ctx, tenant.Tenant{ID: "acme"}, 3)
		if r, ok := errors.AsType[*tenant.Refusal](err); !ok || r.Reason != tenant.ReasonShare || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("three slots beside all four of the share: %v, want a refusal for share", err)
		}
		release()
	})
}

func TestBulkhead_StreamsAreBoundedByTheTierAndTakeNoSlot(t *testing.T) {
	b := tiered(t, 10)
	live := tenant.Tenant{ID: "acme", Tier: "live"}
	refused := func(who tenant.Tenant, want tenant.Reason) {
		t.Helper()
		_, err := b.AcquireStream(who)
		if r, ok := errors.AsType[*tenant.Refusal](err); !ok || r.Reason != want {
			t.Errorf("AcquireStream: %v, want a refusal for %s", err, want)
		}
	}
	var ends []func()
	for range 2 {
		end, err := b.AcquireStream(live)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if st := b.Stats(); st.Streams != 2 || st.InUse != 0 {
		t.Errorf("stats %+v, want two streams and no slot", st)
	}
	refused(live, tenant.ReasonShare)
	refused(tenant.Tenant{ID: "globex"}, tenant.ReasonPlan)
	if err := b.Drain(t.Context()); err != nil {
		t.Errorf("Drain while streams go on: %v", err)
	}
	refused(live, tenant.ReasonClosing)
	for _, end := range ends {
		end()
		end()
	}
	if n := b.Stats().Streams; n != 0 {
		t.Errorf("%d streams at the end", n)
	}
}
