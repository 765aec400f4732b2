package redisquota_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

const (
	callers = 32
	tenants = 8
)

// traffic has many goroutines take for some tenants, and counts what was served to each.
type traffic struct {
	*replica
	served [tenants]atomic.Int64
	total  atomic.Int64
	all    sync.WaitGroup
	stop   context.CancelFunc
}

// start begins to take, until end is called or the test ends.
func start(r *replica) *traffic {
	ctx, stop := context.WithCancel(r.t.Context())
	f := &traffic{replica: r, stop: stop}
	r.t.Cleanup(f.end)
	for caller := range callers {
		f.all.Go(func() {
			for i := caller; ctx.Err() == nil; i++ {
				if r.take(f.tenant(i)).Allowed {
					f.served[i%tenants].Add(1)
				}
				f.total.Add(1)
				runtime.Gosched() // lest a decision that costs nothing keeps the network's goroutines from running
			}
		})
	}
	return f
}

func (f *traffic) tenant(i int) string { return fmt.Sprintf("tenant-%d", i%tenants) }

// flow waits until so many more decisions were made.
func (f *traffic) flow(decisions int64) {
	f.t.Helper()
	until := f.total.Load() + decisions
	eventually(f.t, "decisions are made", func() bool { return f.total.Load() >= until })
}

func (f *traffic) end() {
	f.stop()
	f.all.Wait()
}

// mustAgree checks that what Redis has counted is what was served, but for the calls in doubt: each may have been charged
// without being served, once.
func (f *traffic) mustAgree() {
	f.t.Helper()
	var served, charged int64
	for i := range tenants {
		s, u := f.served[i].Load(), f.used(f.tenant(i))
		if u < s {
			f.t.Errorf("%s: %d used, %d served: %d were served and not charged", f.tenant(i), u, s, s-u)
		}
		served, charged = served+s, charged+u
	}
	stats := f.store.Stats()
	f.t.Logf("%d decisions, %d served, %d charged: %d charged in vain, of %d in doubt; %+v",
		f.total.Load(), served, charged, charged-served, stats.InDoubt, stats)
	if inVain := charged - served; inVain > int64(stats.InDoubt) {
		f.t.Errorf("%d were charged in vain, more than the %d in doubt", inVain, stats.InDoubt)
	}
}

// A refused request is never charged: of some 25 that ask at once for one unit that is left, one has it.
func TestUsage_IsWhatWasServed(t *testing.T) {
	t.Parallel()
	tiers := catalogue(t, tenant.Tier{Name: "free", Rate: 1000, Burst: 20, Quotas: tenant.Quotas{Month: 400}})
	r := newReplica(t, clientOf(t, redistest.Start(t)), strict,
		quota.Config{Tiers: tiers, Global: quota.Rate{PerSecond: 3000, Burst: 50}})
	f := start(r)
	f.flow(8000)
	f.end()
	f.mustAgree()
	if stats := r.store.Stats(); stats.InDoubt != 0 || stats.Failures != 0 || stats.Alone != 0 {
		t.Errorf("got %+v, want nothing but decisions of Redis's", stats)
	}
}

// busy is a catalogue in which nothing is refused.
func busy(t *testing.T) *tenant.Tiers {
	return catalogue(t, tenant.Tier{Name: "free", Rate: 1e5, Burst: 1e5, Quotas: tenant.Quotas{Day: 1e9, Month: 1e9}})
}

// disasters come again and again while requests are served, and lose nothing that the server has acknowledged.
var disasters = []struct {
	name   string
	args   []string
	strike func(*testing.T, *redistest.Server) (mend func())
}{
	{"killed", []string{"--appendonly", "yes", "--appendfsync", "always"}, outages[0].begin},
	{"frozen", nil, outages[1].begin},
	{"cut off", nil, func(t *testing.T, s *redistest.Server) func() {
		must(t, patient(t, s), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		return func() {}
	}},
	{"without the script", nil, func(t *testing.T, s *redistest.Server) func() {
		must(t, patient(t, s), "SCRIPT", "FLUSH")
		return func() {}
	}},
}

func TestUsage_IsWhatWasServedButForCallsInDoubtWhileTheServerIs(t *testing.T) {
	t.Parallel()
	for _, d := range disasters {
		for _, policy := range []redisquota.Policy{redisquota.Closed, redisquota.Local} {
			t.Run(fmt.Sprint(d.name, ", ", policy), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t, d.args...)
				r := newReplica(t, clientOf(t, server), redisquota.Config{OnFailure: policy}, quota.Config{Tiers: busy(t)})
				f := start(r)
				seed := rand.Uint64()
				random := rand.New(rand.NewPCG(seed, 0))
				for range 4 {
					f.flow(random.Int64N(2000))
					mend := d.strike(t, server)
					f.flow(random.Int64N(200))
					mend()
					r.awaitShared()
				}
				f.flow(1000)
				f.end()
				t.Logf("seed %d", seed)
				r.settle()
				f.mustAgree()
			})
		}
	}
}

// settle waits until everything that was decided alone is counted in Redis.
func (r *replica) settle() {
	r.t.Helper()
	r.awaitShared()
	eventually(r.t, "what was decided alone is counted", func() bool { return r.store.Unposted() == 0 })
}
