package redisquota_test

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// A lease goes back as the charge of the call that it was granted with: a call that is free has none.
func TestLease_FreeOperationsLeaveUsageExact(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 1, quota.Rate{}, daily)
	a := f.start()
	limiter, err := quota.New(quota.Config{Tiers: f.tiers, Store: a.store, Costs: quota.Costs{"free": 0}})
	if err != nil {
		t.Fatal(err)
	}
	admitted := int64(0)
	for i := range 1500 {
		d, err := limiter.Take(t.Context(), tenant.Tenant{ID: "acme"}, []string{"free", "paid", "paid"}[i%3])
		if err != nil {
			t.Fatal(err)
		}
		if d.Allowed {
			admitted += int64(d.Cost)
		}
		f.advance(time.Millisecond)
	}
	if a.store.Stats().Leased == 0 {
		t.Error("nothing was decided from a lease")
	}
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	f.cfg.Leases = false
	if used := f.used(f.start(), "acme"); used != admitted {
		t.Errorf("used %d, want the %d that were admitted", used, admitted)
	}
}

// A call that the bucket of all tenants refused may be decided again, without what is leased here.
func TestLease_EachDecisionIsCountedOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 1, quota.Rate{PerSecond: 500, Burst: 500}, tenant.Tier{Name: "pro", Rate: 1000, Burst: 1000})
	a := f.start()
	const decisions = 2000 // ten tenants, each once a millisecond
	for i := range decisions {
		f.take(a, "tenant-"+strconv.Itoa(i%10))
		if i%10 == 9 {
			f.advance(time.Millisecond)
		}
	}
	if stats := a.store.Stats(); stats.Decisions != decisions || stats.Leased == 0 {
		t.Errorf("%+v, want %d decisions, some of them from leases", stats, decisions)
	}
}

// way is the way to a server. Before each write it does what hold says, if anything.
type way struct{ hold atomic.Pointer[func()] }

func (w *way) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return held{conn, w}, err
}

type held struct {
	net.Conn
	way *way
}

func (c held) Write(b []byte) (int, error) {
	if hold := c.way.hold.Load(); hold != nil {
		(*hold)()
	}
	return c.Conn.Write(b)
}

// The tenant comes to where the sweep was already, and nobody is left whom the sweep knows of.
func TestLease_OfATenantThatComesDuringASweepIsSweptLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var w way
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: w.dial})
	t.Cleanup(func() { client.Close() })
	f := newFleet(t, client, 1, quota.Rate{}, daily)
	a := f.start()
	f.cfg.Leases = false
	b := f.start()
	gone, late := "gone-0", "late"
	for i := 1; !a.store.SweptBefore(late, gone); i++ {
		gone = "gone-" + strconv.Itoa(i)
	}
	f.heat(a, gone)
	var once atomic.Bool
	caught, goOn := make(chan struct{}), make(chan struct{})
	hold := func() {
		if once.CompareAndSwap(false, true) {
			close(caught)
			<-goOn
		}
	}
	w.hold.Store(&hold)
	f.advance(1500 * time.Millisecond) // long enough for the tenant to be forgotten, once its lease is given back
	<-caught
	spent := int64(0)
	for ; spent < 20; spent++ {
		f.take(a, late)
	}
	if f.used(b, late) == spent {
		t.Error("nothing is leased that has to be given back")
	}
	close(goOn)
	f.advance(1200 * time.Millisecond)
	eventually(t, "what was leased and not spent is given back", func() bool { return f.used(b, late) == spent })
}

// Redis comes back empty while a lease is out: what is unspent of it was not charged to what there is now.
func TestLease_ThatRedisForgotIsNotTakenFromUsageSince(t *testing.T) {
	t.Parallel()
	client := oneServer(t)
	f := newFleet(t, client, 1, quota.Rate{}, daily)
	a := f.start()
	f.cfg.Leases = false
	b := f.start()
	for range 1500 {
		f.take(a, "acme")
		f.advance(time.Millisecond)
	}
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		f.take(b, "acme")
	}
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	if used := f.used(b, "acme"); used != 100 {
		t.Errorf("used %d, want the 100 that were admitted since", used)
	}
}

// The cases share a cluster, which takes seconds to start.
func TestLease_InACluster(t *testing.T) {
	t.Parallel()
	var w way
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: redistest.StartCluster(t, 3).Addrs(), Dialer: w.dial})
	t.Cleanup(func() { client.Close() })
	t.Run("Close has time for each lease", func(t *testing.T) { closeSlowly(t, client, &w) })
	t.Run("limiters that differ in the reserve only", func(t *testing.T) { reserveBeside(t, client) })
}

// Close gives back every lease, and what is here of the bucket that all tenants share, also where that takes longer than
// one call may.
func closeSlowly(t *testing.T, client redis.UniversalClient, w *way) {
	const most, tenants, latency = 1_000_000, 8, 100 * time.Millisecond
	f := newFleet(t, client, 1, quota.Rate{PerSecond: 1e-3, Burst: most},
		tenant.Tier{Name: "still", Rate: 0, Burst: 1000, Quotas: tenant.Quotas{Day: most}})
	f.cfg.Timeout = (tenants - 2) * latency
	a := f.start()
	admitted := 0
	for i := range 20 * tenants {
		if d := f.take(a, "tenant-"+strconv.Itoa(i%tenants)); d.Allowed {
			admitted++
		}
	}
	hold := func() { <-time.After(latency) }
	w.hold.Store(&hold)
	err := a.store.Close()
	w.hold.Store(nil)
	if err != nil {
		t.Errorf("Close: %v", err)
	}
	f.cfg.Leases, f.cfg.Timeout = false, strict.Timeout
	b := f.start()
	used := int64(0)
	for i := range tenants {
		used += f.used(b, "tenant-"+strconv.Itoa(i))
	}
	if used != int64(admitted) {
		t.Errorf("used %d, want the %d that were admitted", used, admitted)
	}
	rest, err := quota.New(quota.Config{
		Tiers: catalogue(t, tenant.Tier{Name: "open", Rate: tenant.Unlimited}), Store: b.store, Global: f.global,
		Costs: quota.Costs{"rest": most - admitted},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		operation string
		want      tenant.Reason
	}{{"rest", tenant.ReasonNone}, {"one more", tenant.ReasonGlobal}} {
		d, err := rest.Take(t.Context(), tenant.Tenant{ID: "other"}, tt.operation)
		if err != nil || d.Reason != tt.want {
			t.Errorf("%s of the bucket that all tenants share: got %+v, %v, want reason %q", tt.operation, d, err, tt.want)
		}
	}
}

// What one limiter keeps here of the bucket that all tenants share, another must not take for what it may spend.
func reserveBeside(t *testing.T, client redis.UniversalClient) {
	tiers := catalogue(t, tenant.Tier{Name: "free", Rate: 1e-6, Burst: 100})
	limits := quota.Config{Tiers: tiers, Global: quota.Rate{PerSecond: 1e-6, Burst: 1000}, Costs: quota.Costs{"export": 30}}
	plain := newReplica(t, client, redisquota.Config{OnFailure: redisquota.Closed, Timeout: strict.Timeout}, limits)
	plain.take("somebody")
	limits.GlobalReserve, limits.Store = 0.5, plain.store
	limiter, err := quota.New(limits)
	if err != nil {
		t.Fatal(err)
	}
	take := func(id string) quota.Decision {
		d, err := limiter.Take(t.Context(), tenant.Tenant{ID: id}, "export")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for i := range 20 { // of tenants that are quiet, until the bucket is below the line
		if d := take("tenant-" + strconv.Itoa(i/2)); !d.Allowed {
			t.Fatalf("take %d: got %+v, want it allowed", i+1, d)
		}
	}
	if d := take("tenant-0"); d.Reason != tenant.ReasonGlobal {
		t.Errorf("a tenant with 40 of 100 left: got %+v, want it refused for what is reserved to the quiet", d)
	}
}
