package quota_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestMemory_ForgetsOnlyWhatNobodyCanTell(t *testing.T) {
	const never = 365 * 24 * time.Hour
	for _, tt := range []struct {
		name string
		tier tenant.Tier
		want time.Duration // idle before it is forgotten
	}{
		{"full sooner than it was idle for", tenant.Tier{Rate: 100, Burst: 10}, 10 * time.Second},
		{"once its bucket is full", tenant.Tier{Rate: 0.01, Burst: 10}, 500 * time.Second},
		{"rate 0", tenant.Tier{Rate: 0, Burst: 10}, never},
		{"unlimited", tenant.Tier{Rate: tenant.Unlimited}, 10 * time.Second},
		{"until the day is over", tenant.Tier{Rate: 1, Burst: 10, Quotas: tenant.Quotas{Day: 10}}, 12 * time.Hour},
		{"until the minute is over", tenant.Tier{Rate: tenant.Unlimited, Quotas: tenant.Quotas{Minute: 10}}, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.tier.Name = "plan"
			f := newFixture(t, quota.Config{Costs: perUnit()}, tt.tier)
			f.mustTake("plan", "5")
			f.clock.Advance(tt.want - 1)
			f.Memory().Sweep()
			if !f.Memory().Remembers("acme") {
				t.Fatalf("forgotten within %v", tt.want)
			}
			if f.clock.Advance(1); tt.want == never {
				return
			}
			f.Memory().Sweep()
			if f.Memory().Remembers("acme") {
				t.Fatalf("remembered after %v", tt.want)
			}
		})
	}
}

func TestMemory_RefusalsPeeksAndFreeRequestsMakeNoAccount(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
	f.mustRefuse("free", "11", tenant.ReasonPlan, "free")
	f.peek("free", "1")
	f.mustTake("free", "0")
	if n := f.Memory().Len(); n != 0 {
		t.Errorf("%d tenants are remembered, want none", n)
	}
}

func TestMemory_HalfSpentBucketSurvivesAnyChurn(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: 0.001, Burst: 10}, tenant.Tier{Name: "fast", Rate: 1000, Burst: 10})
	f.mustTake("free", "5")
	for i := range 20_000 {
		f.takeAs(tenant.Tenant{ID: fmt.Sprintf("tenant-%d", i), Tier: "fast"}, "10")
		f.clock.Advance(10 * time.Millisecond)
	}
	if n := f.Memory().Len(); n > 5000 {
		t.Errorf("%d tenants are remembered, want those of the last 20 seconds or so", n)
	}
	if d := f.peek("free", "1"); d.Remaining != 5 {
		t.Errorf("Remaining %d, want 5", d.Remaining)
	}
}

func TestMemory_ClockThatStepsBackMintsNothingAndForgetsNothing(t *testing.T) {
	for _, back := range []time.Duration{time.Second, time.Hour, 1000 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
			f.mustTake("free", "6")
			f.clock.Advance(-back)
			f.Memory().Sweep()
			if d := f.peek("free", "1"); d.Remaining != 4 || d.Reset != 6*time.Second+back {
				t.Fatalf("Remaining %d, Reset %v; want 4, %v", d.Remaining, d.Reset, 6*time.Second+back)
			}
			f.mustTake("free", "4")
			d := f.mustRefuse("free", "1", tenant.ReasonTenant, "free")
			if d.RetryAfter != time.Second+back {
				t.Errorf("RetryAfter %v, want %v: the second, and the way back", d.RetryAfter, time.Second+back)
			}
			f.clock.Advance(d.RetryAfter - 1)
			f.mustRefuse("free", "1", tenant.ReasonTenant, "free")
			f.clock.Advance(1)
			f.mustTake("free", "1")
		})
	}
	t.Run("after it was forgotten", func(t *testing.T) {
		f := newFixture(t, quota.Config{Costs: perUnit()}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
		f.mustTake("free", "10")
		f.clock.Advance(10 * time.Second)
		f.Memory().Sweep()
		f.clock.Advance(-time.Second)
		f.mustTake("free", "10")
		f.mustRefuse("free", "1", tenant.ReasonTenant, "free")
		f.clock.Advance(time.Second)
		f.mustRefuse("free", "1", tenant.ReasonTenant, "free") // that second was there before
	})
}

func TestMemory_ForgetsIdleTenantsAsOthersCome(t *testing.T) {
	f := newFixture(t, quota.Config{}, tenant.Tier{Name: "free", Rate: 1, Burst: 10})
	idle := func(i int) string { return fmt.Sprintf("idle-%d", i) }
	for i := range 10_000 {
		f.takeAs(tenant.Tenant{ID: idle(i)}, "GET /")
	}
	f.clock.Advance(20 * time.Second)
	for i := range 10_000 {
		f.takeAs(tenant.Tenant{ID: fmt.Sprintf("busy-%d", i)}, "GET /")
	}
	for i := range 10_000 {
		if f.Memory().Remembers(idle(i)) {
			t.Fatalf("%s is still remembered", idle(i))
		}
	}
}

// In virtual time, with the timer.
func TestMemory_TimerIsSetOnlyWhileThereIsSomethingToForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, err := tenant.NewTiers("free",
			tenant.Tier{Name: "free", Rate: 1, Burst: 100}, tenant.Tier{Name: "dead", Rate: 0, Burst: 10})
		must(t, err)
		l, err := quota.New(quota.Config{Tiers: tiers, Costs: quota.Costs{"GET /": 50, "y": 0}})
		must(t, err)
		m := l.Memory()
		take := func(id, tier, operation string) {
			t.Helper()
			if d, err := l.Take(t.Context(), tenant.Tenant{ID: id, Tier: tier}, operation); err != nil || !d.Allowed {
				t.Fatalf("%s: %+v, %v", id, d, err)
			}
		}
		if m.Armed() {
			t.Fatal("set in a new store")
		}
		take("acme", "free", "GET /")
		if !m.Armed() {
			t.Fatal("not set for the first tenant")
		}
		time.Sleep(40 * time.Second)
		if m.Len() != 1 || !m.Armed() {
			t.Fatalf("%d tenants, set %t, before the bucket is full; want 1, true", m.Len(), m.Armed())
		}
		time.Sleep(20 * time.Second)
		if m.Len() != 0 || m.Armed() {
			t.Fatalf("%d tenants, set %t, after it is; want 0, false", m.Len(), m.Armed())
		}

		take("acme", "dead", "x")
		time.Sleep(time.Minute)
		if m.Len() != 1 || m.Armed() {
			t.Fatalf("%d tenants, set %t, with one that can never be forgotten; want 1, false", m.Len(), m.Armed())
		}
		must(t, tiers.Define(tenant.Tier{Name: "dead", Rate: 1, Burst: 10}))
		time.Sleep(time.Minute)
		if m.Len() != 0 || m.Armed() {
			t.Fatalf("%d tenants, set %t, once it can; want 0, false", m.Len(), m.Armed())
		}
		must(t, tiers.Define(tenant.Tier{Name: "dead", Rate: 0, Burst: 10}))
		for name, change := range map[string]func(*quota.Decision) error{
			"refund": func(d *quota.Decision) error { return l.Refund(t.Context(), d) },
			"reset":  func(*quota.Decision) error { return l.Reset(t.Context(), "acme") },
			"assign": func(*quota.Decision) error { return l.SetTier(t.Context(), "acme", "free") },
			"claim": func(*quota.Decision) error {
				_, err := l.Take(t.Context(), tenant.Tenant{ID: "acme", Tier: "free"}, "y")
				return err
			},
		} {
			d, err := l.Take(t.Context(), tenant.Tenant{ID: "acme", Tier: "dead"}, "x")
			must(t, err)
			time.Sleep(time.Minute)
			must(t, change(&d))
			time.Sleep(2 * time.Minute)
			must(t, l.SetTier(t.Context(), "acme", ""))
			if m.Len() != 0 || m.Armed() {
				t.Fatalf("%d tenants, set %t, once it can by %s; want 0, false", m.Len(), m.Armed(), name)
			}
		}

		take("acme", "free", "x")
		l.Close()
		take("other", "free", "x")
		time.Sleep(time.Hour)
		if m.Len() != 2 {
			t.Fatalf("%d tenants after Close, want the 2 that no request made it forget", m.Len())
		}
	})
}

func TestMemory_TimerDoesNotKeepABubbleFromEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 1, Burst: 100, Quotas: tenant.Quotas{Month: 9}})
		must(t, err)
		l, err := quota.New(quota.Config{Tiers: tiers}) // and no Close
		must(t, err)
		_, err = l.Take(t.Context(), tenant.Tenant{ID: "acme"}, "GET /")
		must(t, err)
		if !l.Memory().Armed() {
			t.Fatal("the timer is not set")
		}
	})
}

func TestMemory_GivesBackTheMemoryOfAMillionIdleTenants(t *testing.T) {
	const tenants = 1_000_000
	synctest.Test(t, func(t *testing.T) {
		tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 1, Burst: 10})
		must(t, err)
		l, err := quota.New(quota.Config{Tiers: tiers})
		must(t, err)
		defer l.Close()
		before := heap()
		var wg sync.WaitGroup
		for part := range 4 {
			wg.Go(func() {
				for i := part; i < tenants; i += 4 {
					if _, err := l.Take(context.Background(), tenant.Tenant{ID: "tenant-" + strconv.Itoa(i)}, "GET /"); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		full := heap()
		time.Sleep(time.Minute) // nobody comes any more
		empty := heap()
		t.Logf("%d bytes a tenant; %d KiB before, %d KiB after", (full-before)/tenants, before/1024, empty/1024)
		if n := l.Memory().Len(); n != 0 {
			t.Errorf("%d tenants are remembered, want none", n)
		}
		if (full-before)/tenants > 250 {
			t.Errorf("%d bytes a tenant, want at most 250", (full-before)/tenants)
		}
		if kept := empty - before; kept > 2<<20 {
			t.Errorf("%d bytes are kept of %d, want at most 2 MiB", kept, full-before)
		}
	})
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
