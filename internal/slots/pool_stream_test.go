package slots_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

func streaming(t testing.TB, p *slots.Pool, id string) func() {
	t.Helper()
	release, err := p.AcquireStream(tenant.Tenant{ID: id})
	if err != nil {
		t.Fatalf("AcquireStream(%s) = %v", id, err)
	}
	return release
}

func wantStreams(t testing.TB, p *slots.Pool, want int) {
	t.Helper()
	s := p.Stats()
	sum := 0
	for _, tenant := range s.Tenants {
		sum += tenant.Streams
	}
	if s.Streams != want || sum != want {
		t.Errorf("%d streams, %d of all tenants; want %d", s.Streams, sum, want)
	}
}

func TestPool_StreamsAreBoundedPerTenantAndTakeNoSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		tiers := tiersOf(t, tenant.Tier{Name: "none", Share: 1}, tenant.Tier{Name: "two", Share: 1, Streams: 2})
		for _, id := range []string{"a", "b"} {
			if err := tiers.Assign(id, "two"); err != nil {
				t.Fatal(err)
			}
		}
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, Tiers: tiers})
		first, second := streaming(t, p, "a"), streaming(t, p, "a")
		_, err := p.AcquireStream(tenant.Tenant{ID: "a"})
		wantRefusal(t, err, tenant.ReasonShare)
		var refusal *tenant.Refusal
		if errors.As(err, &refusal) && refusal.RetryAfter != 0 {
			t.Errorf("RetryAfter is %v, but there is no telling how long streams last", refusal.RetryAfter)
		}
		other := streaming(t, p, "b")
		wantStreams(t, p, 3)
		acquire(t, p, "a")()

		var wg sync.WaitGroup
		wg.Go(first)
		wg.Go(first)
		wg.Wait()
		wantStreams(t, p, 2)
		third := streaming(t, p, "a")
		first()
		wantStreams(t, p, 3)
		for _, release := range []func(){second, third, other} {
			release()
		}
		wantStreams(t, p, 0)

		_, err = p.AcquireStream(tenant.Tenant{ID: "c"})
		wantRefusal(t, err, tenant.ReasonPlan)
		if _, err := p.AcquireStream(tenant.Tenant{ID: "../x"}); !errors.Is(err, tenant.ErrInvalidID) {
			t.Errorf("AcquireStream of an invalid ID = %v, want ErrInvalidID", err)
		}
	})
}

func TestPool_StreamsOutliveAChangeOfTier(t *testing.T) {
	tiers := tiersOf(t, tenant.Tier{Name: "std", Share: 1, Streams: 1})
	p := newPool(t, slots.Settings{Capacity: 1, Tiers: tiers})
	release := streaming(t, p, "a")
	if err := tiers.Define(tenant.Tier{Name: "std", Share: 1}); err != nil {
		t.Fatal(err)
	}
	wantStreams(t, p, 1)
	_, err := p.AcquireStream(tenant.Tenant{ID: "a"})
	wantRefusal(t, err, tenant.ReasonPlan)
	release()
	wantStreams(t, p, 0)
}

func TestPool_TenantThatStreamsIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, slots.Settings{Capacity: 1, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 1, Streams: 1})})
		release := streaming(t, p, "a")
		acquire(t, p, "a")()
		for _, wait := range []time.Duration{time.Minute, time.Second} {
			time.Sleep(wait)
			synctest.Wait()
			wantStreams(t, p, 1)
			if _, err := p.AcquireStream(tenant.Tenant{ID: "a"}); err == nil {
				t.Fatal("a second stream, where one is allowed")
			}
		}
		release()
		time.Sleep(10*time.Second - 1)
		synctest.Wait()
		if n := len(p.Stats().Tenants); n != 1 {
			t.Errorf("%d tenants are remembered just before ten seconds are over, want 1", n)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if n := len(p.Stats().Tenants); n != 0 {
			t.Errorf("%d tenants are remembered ten seconds after the last stream", n)
		}
	})
}

func TestPool_DrainDoesNotWaitForStreams(t *testing.T) {
	p := newPool(t, slots.Settings{Capacity: 1, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 1, Streams: 2})})
	release := streaming(t, p, "a")
	if err := p.Drain(t.Context()); err != nil {
		t.Errorf("Drain with a stream open = %v", err)
	}
	_, err := p.AcquireStream(tenant.Tenant{ID: "a"})
	wantRefusal(t, err, tenant.ReasonClosing)
	p.Close()
	wantStreams(t, p, 1)
	release()
	wantStreams(t, p, 0)
}
