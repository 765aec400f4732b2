package quota_test

import (
	"fmt"
	"math/big"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// model is a limiter that anybody can check: exact fractions, buckets that regain eagerly whenever time passes, and
// usage that is summed up from a list of everything that was admitted. It forgets nothing.
//
// now is what the clock shows, seen the latest it ever showed: the time by which things happen.
type model struct {
	now, seen time.Time
	tiers     map[string]tenant.Tier
	counted   map[quota.Window]bool
	cluster   *modelBucket // nil: none
	line      *big.Rat     // below which the cluster serves only tenants whose bucket is half full
	tenants   map[string]*modelTenant
	local     map[string]modelAssignment // by Assign
	stored    map[string]modelAssignment // by SetTier
	clock     int                        // of assignments
}

type modelAssignment struct {
	tier string
	at   int
}

type modelTenant struct {
	bucket   *modelBucket // nil: none yet
	asserted tenant.Assertion
	last     time.Time // when it took something
	admitted []*modelCharge
}

type modelBucket struct {
	rate   *big.Rat
	burst  *big.Rat
	tokens *big.Rat
}

// modelCharge is what one decision took, as far as it was not given back.
type modelCharge struct {
	tenant          string
	at              time.Time
	units           int
	bucket, cluster bool
	windows         map[quota.Window]bool
}

func rat[N int | int64](n N) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

func newModelBucket(rate float64, burst int) *modelBucket {
	return &modelBucket{rate: new(big.Rat).SetFloat64(rate), burst: rat(burst), tokens: rat(burst)}
}

func (b *modelBucket) add(x *big.Rat) {
	if b.tokens.Add(b.tokens, x); b.tokens.Cmp(b.burst) > 0 {
		b.tokens.Set(b.burst)
	}
}

// wait returns how long it is until the bucket holds units.
func (b *modelBucket) wait(units *big.Rat) time.Duration {
	short := new(big.Rat).Sub(units, b.tokens)
	switch {
	case short.Sign() <= 0:
		return 0
	case b.rate.Sign() == 0 || units.Cmp(b.burst) > 0:
		return quota.Never
	}
	ns := short.Mul(short.Quo(short, b.rate), rat(int64(time.Second)))
	return time.Duration(new(big.Int).Div(new(big.Int).Add(ns.Num(), new(big.Int).Sub(ns.Denom(), big.NewInt(1))), ns.Denom()).Int64())
}

func (b *modelBucket) whole() int {
	return int(new(big.Int).Div(b.tokens.Num(), b.tokens.Denom()).Int64())
}

// clockTo sets the clock, and lets every bucket regain what the time that passed is worth.
func (m *model) clockTo(now time.Time) {
	m.now = now
	passed := now.Sub(m.seen)
	if passed <= 0 {
		return
	}
	m.seen = now
	seconds := big.NewRat(int64(passed), int64(time.Second))
	buckets := []*modelBucket{m.cluster}
	for _, a := range m.tenants {
		buckets = append(buckets, a.bucket)
	}
	for _, b := range buckets {
		if b != nil {
			b.add(new(big.Rat).Mul(b.rate, seconds))
		}
	}
}

// lag is how far the clock is behind.
func (m *model) lag() time.Duration { return m.seen.Sub(m.now) }

// tier returns the tier that applies.
func (m *model) tier(id string, asserted tenant.Assertion) tenant.Tier {
	name := asserted.Tier
	local, stored := m.local[id], m.stored[id]
	if stored.tier != "" {
		name = stored.tier
	}
	if local.tier != "" && local.at > stored.at || local.tier != "" && stored.tier == "" {
		name = local.tier
	}
	if t, ok := m.tiers[name]; ok {
		return t
	}
	return m.tiers["free"]
}

// settle brings every bucket under the tier that applies to its tenant.
func (m *model) settle() {
	for id, a := range m.tenants {
		a.settle(m.tier(id, a.asserted))
	}
}

func (a *modelTenant) settle(t tenant.Tier) {
	if t.Rate == tenant.Unlimited {
		return
	}
	if a.bucket == nil {
		a.bucket = newModelBucket(t.Rate, t.Burst)
	}
	a.bucket.rate, a.bucket.burst = new(big.Rat).SetFloat64(t.Rate), rat(t.Burst)
	a.bucket.add(new(big.Rat))
}

// used sums up what tenant id was charged for in the window.
func (m *model) used(id string, w quota.Window) int64 {
	a := m.tenants[id]
	if a == nil {
		return 0
	}
	var sum int64
	start, end := w.Bounds(m.seen)
	for _, c := range a.admitted {
		if c.windows[w] && !c.at.Before(start) && c.at.Before(end) {
			sum += int64(c.units)
		}
	}
	return sum
}

// decide returns what the limiter must answer, and what it takes; nil: nothing.
func (m *model) decide(who tenant.Tenant, cost int, peek bool) (quota.Decision, *modelCharge) {
	a, known := m.tenants[who.ID]
	if !known || peek {
		fresh := &modelTenant{}
		if known {
			*fresh = *a
			if a.bucket != nil {
				b := *a.bucket
				fresh.bucket = &modelBucket{b.rate, b.burst, new(big.Rat).Set(b.tokens)}
			}
		}
		a = fresh
	}
	a.asserted = a.asserted.Merge(who.Assertion())
	t := m.tier(who.ID, a.asserted)
	a.settle(t)

	d := quota.Decision{Tenant: who.ID, Tier: t.Name, Operation: fmt.Sprint(cost), Cost: cost}
	short := func(reason tenant.Reason, policy string, wait time.Duration) {
		if wait > 0 && d.Reason == tenant.ReasonNone {
			d.Reason, d.Policy = reason, policy
		}
		d.RetryAfter = max(d.RetryAfter, wait)
	}
	limited := t.Rate != tenant.Unlimited
	if limited && cost > t.Burst {
		short(tenant.ReasonPlan, t.Name, quota.Never)
	}
	for w := range quota.Window(quota.Windows) {
		if limit := w.Limit(t.Quotas); limit > 0 && int64(cost) > limit {
			short(tenant.ReasonPlan, w.String(), quota.Never)
		}
	}
	if limited && d.RetryAfter != quota.Never {
		short(tenant.ReasonTenant, t.Name, m.late(a.bucket.wait(rat(cost))))
	}
	for w := quota.Month; w >= quota.Second && cost > 0; w-- {
		if limit := w.Limit(t.Quotas); limit > 0 && m.used(who.ID, w)+int64(cost) > limit {
			_, end := w.Bounds(m.seen)
			short(tenant.ReasonWindow, w.String(), end.Sub(m.now))
		}
	}
	if m.cluster != nil && d.RetryAfter != quota.Never {
		short(tenant.ReasonGlobal, "cluster", m.late(m.clusterWait(a, limited, rat(cost))))
	}

	var charge *modelCharge
	if d.Allowed = d.Reason == tenant.ReasonNone; d.Allowed && !peek {
		charge = m.charge(who.ID, a, limited, cost)
	}
	if limited {
		d.Limit, d.Rate, d.Remaining = t.Burst, t.Rate, a.bucket.whole()
		d.Reset = m.late(a.bucket.wait(a.bucket.burst))
	}
	m.tightest(&d, &t.Quotas)
	return d, charge
}

// clusterWait returns how long it is until the cluster serves tenant a the cost.
func (m *model) clusterWait(a *modelTenant, limited bool, cost *big.Rat) time.Duration {
	if cost.Sign() == 0 {
		return 0
	}
	wait := m.cluster.wait(new(big.Rat).Add(cost, m.line))
	if limited {
		half := new(big.Rat).Quo(a.bucket.burst, rat(2))
		wait = min(wait, max(a.bucket.wait(half), m.cluster.wait(cost)))
	}
	return wait
}

// late adds the lag to a wait.
func (m *model) late(wait time.Duration) time.Duration {
	if wait == 0 || wait == quota.Never {
		return wait
	}
	return wait + m.lag()
}

func (m *model) charge(id string, a *modelTenant, limited bool, cost int) *modelCharge {
	c := &modelCharge{tenant: id, at: m.seen, units: cost, bucket: limited, cluster: m.cluster != nil, windows: map[quota.Window]bool{}}
	for w := range m.counted {
		c.windows[w] = true
	}
	if limited {
		a.bucket.tokens.Sub(a.bucket.tokens, rat(cost))
	}
	if m.cluster != nil {
		m.cluster.tokens.Sub(m.cluster.tokens, rat(cost))
	}
	a.last = m.seen
	a.admitted = append(a.admitted, c)
	if cost > 0 {
		m.tenants[id] = a
	}
	return c
}

// tightest fills in the quota with the least left.
func (m *model) tightest(d *quota.Decision, q *tenant.Quotas) {
	var best *big.Rat
	for w := range quota.Window(quota.Windows) {
		limit := w.Limit(*q)
		if limit == 0 {
			continue
		}
		left := max(0, limit-m.used(d.Tenant, w))
		part := big.NewRat(left, limit)
		if best == nil || part.Cmp(best) < 0 || part.Cmp(best) == 0 && left <= d.QuotaRemaining {
			best = part
			_, end := w.Bounds(m.seen)
			d.QuotaPolicy, d.QuotaLimit, d.QuotaRemaining, d.QuotaReset = w.String(), limit, left, end.Sub(m.seen)
		}
	}
}

// refund gives back a charge, or only its calendar part.
func (m *model) refund(c *modelCharge, quotasOnly bool) {
	units := rat(c.units)
	if !quotasOnly {
		if a := m.tenants[c.tenant]; c.bucket && a != nil && a.bucket != nil {
			a.bucket.add(units)
		}
		if c.cluster {
			m.cluster.add(units)
		}
		c.bucket, c.cluster = false, false
	}
	c.windows = nil
}

// forgettable says why tenant id must not be forgotten; empty: it may.
func (m *model) forgettable(id string) string {
	a := m.tenants[id]
	if a.bucket != nil && a.bucket.tokens.Cmp(a.bucket.burst) < 0 {
		return fmt.Sprintf("its bucket holds %v of %v", a.bucket.tokens, a.bucket.burst)
	}
	for w := range quota.Window(quota.Windows) {
		if used := m.used(id, w); used > 0 {
			return fmt.Sprintf("it used %d of the %v", used, w)
		}
	}
	if idle := m.seen.Sub(a.last); idle < 10*time.Second {
		return fmt.Sprintf("it was idle for %v only", idle)
	}
	return ""
}
