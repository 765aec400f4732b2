package redisquota_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// The store in Redis decides as the one in process does, to the last digit: that one is held to a model in fractions by
// package quota's own tests.
func TestStore_DecidesAsTheOneInProcess(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	t.Cleanup(func() { client.Close() })
	for name, option := range map[string]func(*redisquota.Store){
		"plain":            func(*redisquota.Store) {},
		"nothing is plain": (*redisquota.Store).NotPlain,
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				p := newPair(t, rt, client, option)
				defer p.close()
				rt.Repeat(p.actions())
			})
		})
	}
}

// pair is a store in Redis and one in process, on the same clock and with the same rules.
type pair struct {
	*rapid.T
	redis   *redisquota.Store
	memory  *quota.Memory
	rules   quota.Rules
	now     time.Time
	charges [][2]quota.Charge // that were not refunded
	defined bool
}

func newPair(t *testing.T, rt *rapid.T, client *redis.Client, option func(*redisquota.Store)) *pair {
	all, counted := []tenant.Tier{
		{Name: "free", Rate: 3, Burst: 5},
		{Name: "pro", Rate: 1000.0 / 3, Burst: 12, Quotas: tenant.Quotas{Day: 40, Month: 50}},
		{Name: "still", Rate: 0, Burst: 6},
		{Name: "open", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Day: 30}},
	}, quota.WindowSet(1<<quota.Day|1<<quota.Month)
	if rapid.Bool().Draw(rt, "short windows") {
		short := tenant.Tier{Name: "tick", Rate: 7, Burst: 9, Quotas: tenant.Quotas{Second: 4, Minute: 9, Hour: 30}}
		all, counted = append(all, short), 1<<quota.Windows-1
	}
	tiers, err := tenant.NewTiers("free", all...)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{
		T: rt, redis: newStore(t, client, strict), rules: quota.Rules{Tiers: tiers, Counted: counted},
		now: time.Date(2024, 2, 29, 23, 59, 57, 123_456_000, time.UTC), // every window ends soon
	}
	option(p.redis)
	clock := func() time.Time { return p.now }
	p.redis.SetClock(clock)
	p.memory = quota.NewMemory(clock)
	if rapid.Bool().Draw(rt, "cluster") {
		p.rules.Cluster = quota.Rate{PerSecond: 20, Burst: 25}
		p.rules.Reserve = rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(rt, "reserve")
	}
	return p
}

func (p *pair) close() {
	_ = p.memory.Close()
	if err := p.redis.Close(); err != nil {
		p.Errorf("Close: %v", err)
	}
}

func (p *pair) actions() map[string]func(*rapid.T) {
	take := func(*rapid.T) { p.take() }
	return map[string]func(*rapid.T){
		"take": take, "take again": take, "take once more": take,
		"wait":     func(*rapid.T) { p.wait() },
		"refund":   func(*rapid.T) { p.refund() },
		"set tier": func(*rapid.T) { p.setTier() },
		"assign":   func(*rapid.T) { p.assign() },
		"define":   func(*rapid.T) { p.define() },
		"reset": func(*rapid.T) {
			id := p.id()
			p.both(func(s quota.Store) error { return s.Reset(p.Context(), p.rules, id) })
		},
	}
}

func (p *pair) id() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(p.T, "tenant") }

func (p *pair) tier() string {
	return rapid.SampledFrom([]string{"free", "pro", "tick", "still", "open", "", "unknown"}).Draw(p.T, "tier")
}

func (p *pair) assertion() tenant.Assertion {
	a := tenant.Assertion{Tier: p.tier()}
	if asOf := rapid.IntRange(0, 4).Draw(p.T, "as of"); asOf > 0 {
		a.AsOf = time.Unix(1_700_000_000, int64(asOf)*500_000_001)
	}
	return a
}

// both does the same to both stores, neither of which may fail.
func (p *pair) both(do func(quota.Store) error) {
	for _, s := range []quota.Store{p.redis, p.memory} {
		if err := do(s); err != nil {
			p.Fatalf("%T: %v", s, err)
		}
	}
}

// take has both decide a batch, and compares.
func (p *pair) take() {
	var batch, other []quota.Call
	for range rapid.IntRange(1, 4).Draw(p.T, "calls") {
		c := quota.Call{Tenant: p.id(), Asserted: p.assertion(), Cost: rapid.IntRange(1, 7).Draw(p.T, "cost")}
		c.Peek = rapid.IntRange(0, 4).Draw(p.T, "peek") == 0
		batch, other = append(batch, c), append(other, c)
	}
	if err := p.redis.Take(p.Context(), p.rules, batch); err != nil {
		p.Fatal(err)
	}
	_ = p.memory.Take(p.Context(), p.rules, other) // never fails
	for i := range batch {
		p.compare(&batch[i], &other[i], len(batch) > 1 && p.rules.Cluster.Burst > 0)
		if batch[i].Result.Charge.Units > 0 {
			p.charges = append(p.charges, [2]quota.Charge{batch[i].Result.Charge, other[i].Result.Charge})
		}
	}
}

// compare compares the answers to a call. What it was promised is longer by less than a microsecond, which is how the
// server counts; or by what later calls of the batch took of the bucket that all tenants share.
func (p *pair) compare(got, want *quota.Call, later bool) {
	for _, promised := range []struct{ got, want *time.Duration }{
		{&got.Result.RetryAfter, &want.Result.RetryAfter}, {&got.Result.Full, &want.Result.Full},
	} {
		if late := *promised.got - *promised.want; late < 0 || late >= time.Microsecond && !later {
			p.Errorf("promised %v, want %v and less than a microsecond more", *promised.got, *promised.want)
		}
		*promised.got = *promised.want
	}
	if got.Result.Spent.Units == [quota.Windows]int64{} {
		got.Result.Spent.At, want.Result.Spent.At = time.Time{}, time.Time{}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(time.Time{})); diff != "" {
		p.Fatalf("at %v, in process (-) and in Redis (+):\n%s", p.now, diff)
	}
}

func (p *pair) wait() {
	p.now = p.now.Add(time.Duration(rapid.IntRange(1, 300_000).Draw(p.T, "microseconds")) * time.Microsecond)
}

func (p *pair) refund() {
	if len(p.charges) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.charges)-1).Draw(p.T, "charge")
	charge := p.charges[i]
	p.charges = append(p.charges[:i], p.charges[i+1:]...)
	if err := p.redis.Refund(p.Context(), p.rules, charge[:1]); err != nil {
		p.Fatal(err)
	}
	_ = p.memory.Refund(p.Context(), p.rules, charge[1:]) // never fails
}

func (p *pair) setTier() {
	id, a := p.id(), p.assertion()
	p.both(func(s quota.Store) error { return s.SetTier(p.Context(), p.rules, id, a) })
}

// assign assigns a tier in the process, or takes that back.
func (p *pair) assign() {
	id, tier := p.id(), p.tier()
	if _, ok := p.rules.Tiers.Lookup(tier); ok {
		if err := p.rules.Tiers.Assign(id, tier); err != nil {
			p.Fatal(err)
		}
	} else {
		p.rules.Tiers.Unassign(id)
	}
	p.both(func(s quota.Store) error { return s.Settle(p.Context(), p.rules, id) })
}

// define defines a tier anew, once: the store in Redis settles a bucket as of the last time only.
func (p *pair) define() {
	if p.defined {
		return
	}
	p.defined = true
	tier := tenant.Tier{Name: "free", Rate: rapid.Float64Range(0, 50).Draw(p.T, "rate")}
	tier.Burst = rapid.IntRange(1, 9).Draw(p.T, "burst")
	if err := p.rules.Tiers.Define(tier); err != nil {
		p.Fatal(err)
	}
	p.both(func(s quota.Store) error { return s.Settle(p.Context(), p.rules, "") })
}
