package redisquota_test

import (
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

// fleet is some replicas that share limits and lease, on a clock of the test's.
type fleet struct {
	testing.TB
	client redis.UniversalClient
	cfg    redisquota.Config
	tiers  *tenant.Tiers
	global quota.Rate
	now    atomic.Int64 // in nanoseconds
}

func newFleet(t testing.TB, client redis.UniversalClient, replicas int, global quota.Rate, tiers ...tenant.Tier) *fleet {
	t.Helper()
	catalogue, err := tenant.NewTiers(tiers[0].Name, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{TB: t, client: client, cfg: strict, tiers: catalogue, global: global}
	f.cfg.Leases, f.cfg.Replicas = true, replicas
	f.cfg.Prefix = "fleet" + strconv.FormatInt(stores.Add(1), 10) + ":"
	f.now.Store(time.Date(2026, 3, 5, 10, 20, 30, 0, time.UTC).UnixNano())
	return f
}

// member is one of them.
type member struct {
	*quota.Limiter
	store *redisquota.Store
}

func (f *fleet) start() member {
	f.Helper()
	store, err := redisquota.New(f.client, f.cfg)
	if err != nil {
		f.Fatal(err)
	}
	store.SetClock(func() time.Time { return time.Unix(0, f.now.Load()).UTC() })
	limiter, err := quota.New(quota.Config{Tiers: f.tiers, Global: f.global, Store: store})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	return member{limiter, store}
}

func (f *fleet) advance(d time.Duration) { f.now.Add(int64(d)) }

func (f *fleet) take(r member, id string) quota.Decision {
	f.Helper()
	d, err := r.Take(f.Context(), tenant.Tenant{ID: id}, "GET /")
	if err != nil {
		f.Fatal(err)
	}
	return d
}

// heat has a replica take until it has a lease, and returns how many it took.
func (f *fleet) heat(r member, id string) int {
	f.Helper()
	for n := 1; n < 100; n++ {
		if d := f.take(r, id); !d.Allowed {
			f.Fatalf("refused by %s", d.Reason)
		}
		if r.store.Stats().Leased > 0 {
			return n
		}
	}
	f.Fatal("no lease after 100 calls")
	return 0
}

func (f *fleet) used(r member, id string) int64 {
	f.Helper()
	all, err := r.Usage(f.Context(), tenant.Tenant{ID: id})
	if err != nil || len(all) != 1 {
		f.Fatalf("usage %v, %v; want one window's", all, err)
	}
	return all[0].Used
}

func oneServer(t testing.TB) redis.UniversalClient {
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	t.Cleanup(func() { client.Close() })
	return client
}

var daily = tenant.Tier{Name: "pro", Rate: 1000, Burst: 1000, Quotas: tenant.Quotas{Day: 1_000_000}}

func TestLease_FewCallsForAHotTenantOfFourReplicas(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 4, quota.Rate{PerSecond: 5000, Burst: 5000}, daily)
	replicas := []member{f.start(), f.start(), f.start(), f.start()}
	admitted := 0
	for i := range 10_000 { // ten seconds at the tenant's rate
		if f.take(replicas[i%4], "acme").Allowed {
			admitted++
		}
		f.advance(time.Millisecond)
	}
	var calls, decisions uint64
	for _, r := range replicas {
		stats := r.store.Stats()
		calls, decisions = calls+stats.Calls, decisions+stats.Decisions
	}
	t.Logf("%d calls for %d decisions, %d admitted", calls, decisions, admitted)
	if calls*10 > decisions {
		t.Errorf("%d calls for %d decisions, want fewer than a tenth", calls, decisions)
	}
	if admitted < 9_900 {
		t.Errorf("admitted %d of 10,000 at the tenant's rate", admitted)
	}
}

func TestLease_WhatIsUnspentGoesBackOnClose(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 2, quota.Rate{PerSecond: 1e-3, Burst: 2000},
		tenant.Tier{Name: "slow", Rate: 1e-3, Burst: 1000, Quotas: tenant.Quotas{Day: 1_000_000}})
	a := f.start()
	f.cfg.Leases = false
	b := f.start()
	spent := f.heat(a, "acme")
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := f.take(b, "acme").Remaining, 1000-spent-1; got != want {
		t.Errorf("%d remaining, want %d", got, want)
	}
	if got, want := f.used(b, "acme"), int64(spent)+1; got != want {
		t.Errorf("used %d, want %d", got, want)
	}
	for range 1000 - spent - 1 {
		f.take(b, "acme")
	}
	if d := f.take(b, "acme"); d.Reason != tenant.ReasonTenant {
		t.Errorf("after the whole burst: reason %q, want tenant", d.Reason)
	}
	for i := range 1000 { // the other half of the cluster's bucket
		if d := f.take(b, "tenant-"+strconv.Itoa(i%10)); !d.Allowed {
			t.Fatalf("refused by %s with %d of the cluster's left", d.Reason, 1000-i)
		}
	}
	if d := f.take(b, "one-more"); d.Reason != tenant.ReasonGlobal {
		t.Errorf("after the cluster's whole burst: reason %q, want global", d.Reason)
	}
}

func TestLease_IsOverAfterACrash(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 2, quota.Rate{}, daily)
	crashed, b := f.start(), f.start()
	spent := f.heat(crashed, "acme")
	before := f.take(b, "acme").Remaining + 1 + spent
	if before >= 1000 {
		t.Fatalf("%d remaining besides what was spent, want fewer than the burst: something is leased", before)
	}
	f.advance(10 * time.Second)
	if d := f.take(b, "acme"); d.Remaining != 999 {
		t.Errorf("%d remaining long after the crash, want 999: the lease is over", d.Remaining)
	}
	if used := f.used(b, "acme"); used < int64(spent)+2 || used > int64(spent)+2+250 {
		t.Errorf("used %d, want the %d that were served and at most a lease more", used, spent+2)
	}
}

func TestLease_NeverCrossesAWindow(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 2, quota.Rate{}, daily)
	f.now.Store(time.Date(2026, 3, 5, 23, 59, 58, 300_000_000, time.UTC).UnixNano())
	a := f.start()
	f.heat(a, "acme")
	for f.now.Load() < time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC).UnixNano() {
		f.take(a, "acme")
		f.advance(10 * time.Millisecond)
	}
	for range 5 {
		f.take(a, "acme")
	}
	if used := f.used(a, "acme"); used != 5 {
		t.Errorf("used %d on the new day, want 5", used)
	}
}

// What a lease keeps out of the bucket is not refilled before the lease is over: else who spends it late, and then all
// that was refilled meanwhile, gets both.
func TestLease_KeepsItsRoomUntilItIsOver(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 1, quota.Rate{}, tenant.Tier{Name: "pro", Rate: 1000, Burst: 1000})
	a := f.start()
	f.cfg.Leases = false
	b := f.start()
	for range 3100 { // its leases grow to 500 units
		f.take(a, "acme")
		f.advance(time.Millisecond)
	}
	if _, err := a.Peek(t.Context(), tenant.Tenant{ID: "acme"}, "GET /"); err != nil { // ends the last
		t.Fatal(err)
	}
	f.take(a, "acme")                  // at a tenth of a second
	f.advance(1850 * time.Millisecond) // the lease ends in 50 ms
	calls, late := a.store.Stats().Calls, 0
	for ; late < 490; late++ {
		f.take(a, "acme")
	}
	if a.store.Stats().Calls != calls {
		t.Fatal("the lease was too small")
	}
	f.advance(100 * time.Millisecond)
	for f.take(b, "acme").Allowed {
		late++
	}
	if late < 900 || late > 1100 {
		t.Errorf("admitted %d in 100 ms, want nearly 1,000, and 1,100 at most", late)
	}
}

// The same for the bucket that all tenants share, which in a Cluster is leased itself: what a tenant's lease took of that
// is not spent yet.
func TestLease_KeepsItsRoomOfTheSharedBucketInACluster(t *testing.T) {
	t.Parallel()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: redistest.StartCluster(t, 3).Addrs()})
	t.Cleanup(func() { client.Close() })
	f := newFleet(t, client, 1, quota.Rate{PerSecond: 1000, Burst: 1000}, tenant.Tier{Name: "pro", Rate: 1e5, Burst: 1e5})
	a := f.start()
	f.cfg.Leases = false
	b := f.start()
	for range 3100 {
		f.take(a, "acme")
		f.advance(time.Millisecond)
	}
	if _, err := a.Peek(t.Context(), tenant.Tenant{ID: "acme"}, "GET /"); err != nil { // ends the last lease
		t.Fatal(err)
	}
	f.take(a, "acme") // at a tenth of a second
	f.advance(time.Millisecond)
	f.take(a, "other") // has the bucket told what was spent
	f.advance(1800 * time.Millisecond)
	leased, late := a.store.Stats().Leased, 0
	for ; late < 250; late++ {
		f.take(a, "acme")
	}
	if got := a.store.Stats().Leased - leased; got != 250 {
		t.Fatalf("%d of 250 decisions were made from the lease", got)
	}
	for f.take(b, "other").Allowed {
		late++
	}
	if late > 1000 {
		t.Errorf("admitted %d at one instant, want the burst of 1000 at most", late)
	}
}

func TestLease_TinyLimitsAreNotLeased(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 4, quota.Rate{},
		tenant.Tier{Name: "tiny", Rate: 1000, Burst: 40}, tenant.Tier{Name: "open", Rate: tenant.Unlimited})
	a := f.start()
	for range 200 {
		f.take(a, "acme")
		f.advance(time.Millisecond)
	}
	if leased := a.store.Stats().Leased; leased != 0 {
		t.Errorf("%d decisions from leases, want 0: a lease of 5 units is not worth it", leased)
	}
}

func TestLease_ChangeOfTierTakesEffectAtOnceHereAndSoonElsewhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 2, quota.Rate{}, daily, tenant.Tier{Name: "free", Rate: 1, Burst: 5})
	a, b := f.start(), f.start()
	f.heat(a, "acme")
	f.heat(b, "acme")
	if err := a.SetTier(t.Context(), "acme", "free"); err != nil {
		t.Fatal(err)
	}
	if d := f.take(a, "acme"); d.Tier != "free" {
		t.Errorf("tier %q after SetTier, want free", d.Tier)
	}
	f.advance(2 * time.Second)
	if d := f.take(b, "acme"); d.Tier != "free" {
		t.Errorf("tier %q on another replica two seconds later, want free", d.Tier)
	}
}

func TestLease_AnOlderAssertionNeverChangesTheTierBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, oneServer(t), 1, quota.Rate{}, daily, tenant.Tier{Name: "free", Rate: 1, Burst: 500})
	a := f.start()
	take := func(tier string, asOf int64) quota.Decision {
		d, err := a.Take(t.Context(), tenant.Tenant{ID: "acme", Tier: tier, TierAsOf: time.Unix(asOf, 0)}, "GET /")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for a.store.Stats().Leased == 0 {
		take("pro", 100)
	}
	take("pro", 300) // from the lease: Redis has not heard of it
	if d := take("free", 200); d.Tier != "pro" {
		t.Errorf("tier %q by an older assertion, want pro", d.Tier)
	}
	if d := take("free", 400); d.Tier != "free" {
		t.Errorf("tier %q by a later assertion, want free", d.Tier)
	}
}
