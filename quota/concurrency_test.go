package quota_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// race runs f in n goroutines from a common start.
func race(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

func TestLimiter_OfManyAtOnceExactlyTheBurstPasses(t *testing.T) {
	for range 20 {
		f := newFixture(t, quota.Config{}, tenant.Tier{Name: "free", Rate: 1e-6, Burst: 25, Quotas: tenant.Quotas{Day: 1000}})
		var passed atomic.Int64
		race(2*runtime.GOMAXPROCS(0), func(int) {
			for range 25 {
				if d, err := f.Take(t.Context(), tenant.Tenant{ID: "acme"}, "GET /"); err != nil {
					t.Error(err)
				} else if d.Allowed {
					passed.Add(1)
				}
			}
		})
		if got := passed.Load(); got != 25 {
			t.Fatalf("%d passed, want 25", got)
		}
		equal(t, "usage", f.used("free"), map[string]int64{"day": 25})
	}
}

func TestLimiter_ManyTenantsAtOnceNeverExceedTheCluster(t *testing.T) {
	f := newFixture(t, quota.Config{Global: quota.Rate{PerSecond: 1e-6, Burst: 500}},
		tenant.Tier{Name: "free", Rate: 1e-6, Burst: 100})
	var passed atomic.Int64
	race(2*runtime.GOMAXPROCS(0), func(i int) {
		for j := range 1000 {
			who := tenant.Tenant{ID: fmt.Sprintf("tenant-%d", (i+j)%40)}
			if d, err := f.Take(t.Context(), who, "GET /"); err != nil {
				t.Error(err)
			} else if d.Allowed {
				passed.Add(1)
			}
		}
	})
	if got := passed.Load(); got != 500 {
		t.Errorf("%d passed, want the cluster's 500", got)
	}
}

// Everything at once, on the machine's clock. Run with the race detector it looks for races; what it checks itself is
// that takes less refunds is what usage says.
func TestLimiter_EverythingAtOnceAddsUp(t *testing.T) {
	quotas := tenant.Quotas{Month: 1_000_000_000}
	tiers, err := tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 1e6, Burst: 1000, Quotas: quotas},
		tenant.Tier{Name: "pro", Rate: 1e7, Burst: 5000, Quotas: quotas},
		tenant.Tier{Name: "open", Rate: tenant.Unlimited, Quotas: quotas})
	must(t, err)
	now := &clock{now: noon}
	l, err := quota.New(quota.Config{Tiers: tiers, Costs: perUnit(), Global: quota.Rate{PerSecond: 1e9, Burst: 1e9}, Now: now.Now})
	must(t, err)
	defer l.Close()

	const tenants = 5
	id := func(i int) string { return fmt.Sprintf("tenant-%d", i) }
	names := []string{"free", "pro", "open"}
	var spent [tenants]atomic.Int64
	race(2*runtime.GOMAXPROCS(0)+2, func(i int) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		for range 2000 {
			which := random.IntN(tenants)
			who := tenant.Tenant{ID: id(which), Tier: names[random.IntN(3)]}
			var err error
			switch random.IntN(16) {
			case 0:
				err = l.SetTier(t.Context(), who.ID, who.Tier)
			case 1:
				err = tiers.Assign(who.ID, who.Tier)
			case 2:
				tiers.Unassign(who.ID)
			case 3:
				err = tiers.Define(tenant.Tier{Name: "pro", Rate: 1e7, Burst: 1000 + random.IntN(5000), Quotas: quotas})
			case 4:
				err = l.Reset(t.Context(), who.ID)
			case 5:
				_, err = l.Usage(t.Context(), who)
			case 6:
				_, err = l.Peek(t.Context(), who, "5")
			case 7:
				now.Advance(1000)
			default:
				var d quota.Decision
				if d, err = l.Take(t.Context(), who, "3"); err == nil && d.Allowed {
					if random.IntN(2) == 0 {
						err = l.Refund(t.Context(), &d)
					} else {
						spent[which].Add(3)
					}
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	for i := range tenants {
		all, err := l.Usage(t.Context(), tenant.Tenant{ID: id(i)})
		must(t, err)
		if got, want := all[0].Used, spent[i].Load(); got != want {
			t.Errorf("%s: usage %d, want %d", id(i), got, want)
		}
	}
}

// A request never sees a plan that was replaced before it was made.
func TestLimiter_NoRequestIsJudgedByAPlanReplacedBeforeIt(t *testing.T) {
	f := newFixture(t, quota.Config{}, tenant.Tier{Name: "free", Rate: 1e6, Burst: 1e6}, tenant.Tier{Name: "pro", Rate: 1e6, Burst: 1e6})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // somebody keeps the tenant busy
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = f.Take(t.Context(), tenant.Tenant{ID: "acme", Tier: "free"}, "GET /")
			}
		}
	})
	for i := range 2000 {
		tier := []string{"free", "pro"}[i%2]
		if i%4 < 2 {
			must(t, f.tiers.Assign("acme", tier))
		} else {
			must(t, f.SetTier(t.Context(), "acme", tier))
		}
		if d := f.take("free", "GET /"); d.Tier != tier {
			t.Fatalf("step %d: tier %q, want %q", i, d.Tier, tier)
		}
	}
	close(stop)
	wg.Wait()
}
