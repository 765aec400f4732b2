package quota_test

import (
	"context"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// tick is the grid of the properties' time. With rates that are powers of two every number of tokens is a multiple of
// 1/8, so that floating point has nothing to round and the model's fractions must agree to the last digit.
const tick = 125 * time.Millisecond

func drawTier(t *rapid.T, name string) tenant.Tier {
	quotas := tenant.Quotas{}
	for _, q := range []*int64{&quotas.Second, &quotas.Hour, &quotas.Day, &quotas.Month} {
		*q = rapid.SampledFrom([]int64{0, 0, 0, 7, 30}).Draw(t, "quota")
	}
	return tenant.Tier{
		Name:   name,
		Rate:   rapid.SampledFrom([]float64{0, 0.5, 1, 2, 8, tenant.Unlimited}).Draw(t, "rate"),
		Burst:  rapid.IntRange(1, 12).Draw(t, "burst"),
		Quotas: quotas,
	}
}

// machine drives a limiter and the model side by side.
type machine struct {
	limiter *quota.Limiter
	memory  *quota.Memory
	tiers   *tenant.Tiers
	clock   *clock
	model   *model
	charges []*decided
}

// decided is an admitted request that may yet be refunded.
type decided struct {
	decision quota.Decision
	charge   *modelCharge
}

var (
	tenantIDs = []string{"acme", "other", "third"}
	tierNames = []string{"free", "pro", "big"}
)

// newMachine returns one whose limiter keeps its state in wrap(memory). A nil wrap: the limiter makes its own.
func newMachine(t *rapid.T, wrap func(quota.Store) quota.Store) *machine {
	start := time.Date(2026, 1, 31, 23, 59, 50, 0, time.UTC)
	m := &machine{clock: &clock{now: start}, model: &model{
		now: start, seen: start,
		tiers: map[string]tenant.Tier{}, counted: map[quota.Window]bool{}, tenants: map[string]*modelTenant{},
		local: map[string]modelAssignment{}, stored: map[string]modelAssignment{},
	}}
	var catalogue []tenant.Tier
	for _, name := range tierNames {
		tier := drawTier(t, name)
		catalogue = append(catalogue, tier)
		m.model.define(tier)
	}
	cfg := quota.Config{Costs: quota.Costs{}, Now: m.clock.Now}
	for cost := range 10 {
		cfg.Costs[strconv.Itoa(cost)] = cost
	}
	if rapid.Bool().Draw(t, "cluster") {
		cfg.Global = quota.Rate{PerSecond: 1, Burst: 10}
		cfg.GlobalReserve = rapid.SampledFrom([]float64{0, 0.25, 0.5}).Draw(t, "reserve")
		m.model.cluster = newModelBucket(1, 10)
		m.model.line = new(big.Rat).SetFloat64(10 * cfg.GlobalReserve)
	}
	var err error
	if m.tiers, err = tenant.NewTiers("free", catalogue...); err != nil {
		t.Fatal(err)
	}
	cfg.Tiers = m.tiers
	if wrap != nil {
		m.memory = quota.NewMemory(m.clock.Now)
		cfg.Store = wrap(m.memory)
	}
	if m.limiter, err = quota.New(cfg); err != nil {
		t.Fatal(err)
	}
	if wrap == nil {
		m.memory = m.limiter.Memory()
	}
	return m
}

func (m *model) define(t tenant.Tier) {
	m.tiers[t.Name] = t
	for w := range quota.Window(quota.Windows) {
		if w.Limit(t.Quotas) > 0 {
			m.counted[w] = true
		}
	}
	m.settle()
}

// clockTo sets both clocks, and has every tenant's part of the store see the time.
func (m *machine) clockTo(t *rapid.T, now time.Time) {
	m.clock.Advance(now.Sub(m.clock.Now()))
	m.model.clockTo(now)
	m.check(t)
}

// check compares how things stand, having told the model what was forgotten.
func (m *machine) check(t *rapid.T) {
	for _, id := range tenantIDs {
		m.forget(t, id)
		for _, cost := range []int{0, 1, 9} {
			m.decide(t, tenant.Tenant{ID: id}, cost, true)
		}
		m.checkUsage(t, id)
	}
}

// forget has the model forget what the store forgot, if it may.
func (m *machine) forget(t *rapid.T, id string) {
	if m.model.tenants[id] == nil || m.memory.Remembers(id) {
		return
	}
	if why := m.model.forgettable(id); why != "" {
		t.Fatalf("%s was forgotten, but %s", id, why)
	}
	delete(m.model.tenants, id)
}

func (m *machine) decide(t *rapid.T, who tenant.Tenant, cost int, peek bool) quota.Decision {
	got, err := m.limiter.Peek(context.Background(), who, strconv.Itoa(cost)) // sweeps, if a sweep is due
	m.forget(t, who.ID)
	if err == nil && !peek {
		got, err = m.limiter.Take(context.Background(), who, strconv.Itoa(cost))
	}
	if err != nil {
		t.Fatalf("%v: %v", who, err)
	}
	want, charge := m.model.decide(who, cost, peek)
	if diff := cmp.Diff(want, got, ignoreUnexported); diff != "" {
		t.Fatalf("%v, cost %d, peek %t (-model +limiter):\n%s", who, cost, peek, diff)
	}
	if got.Remaining < 0 || got.Remaining > got.Limit {
		t.Fatalf("%v: Remaining %d of %d", who, got.Remaining, got.Limit)
	}
	if charge != nil {
		m.charges = append(m.charges, &decided{got, charge})
	}
	return got
}

func (m *machine) checkUsage(t *rapid.T, id string) {
	all, err := m.limiter.Usage(context.Background(), tenant.Tenant{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range all {
		for w := range quota.Window(quota.Windows) {
			if w.String() != u.Policy {
				continue
			}
			if want := m.model.used(id, w); u.Used != want {
				t.Fatalf("%s: usage of the %s is %d, the sum of what was admitted is %d", id, u.Policy, u.Used, want)
			}
		}
	}
}

func (m *machine) take(t *rapid.T) {
	who := tenant.Tenant{ID: rapid.SampledFrom(tenantIDs).Draw(t, "tenant")}
	if rapid.IntRange(0, 4).Draw(t, "says so") == 0 {
		who.Tier = rapid.SampledFrom(append(tierNames, "nonesuch")).Draw(t, "tier")
		who.TierAsOf = time.Unix(int64(rapid.IntRange(0, 5).Draw(t, "as of")), 0)
	}
	cost := rapid.IntRange(0, 9).Draw(t, "cost")
	d := m.decide(t, who, cost, false)
	if d.Allowed || d.RetryAfter == quota.Never {
		return
	}
	// The promise: refused until then, and not a nanosecond longer. A tenant that says which tier it is on is on that also
	// if it was forgotten in between.
	if a := m.model.tenants[who.ID]; a != nil {
		who.Tier, who.TierAsOf = a.asserted.Tier, a.asserted.AsOf
	}
	promised := m.clock.Now().Add(d.RetryAfter)
	m.clockTo(t, promised.Add(-1))
	if d := m.decide(t, who, cost, true); d.Allowed {
		t.Fatalf("%v, cost %d: allowed a nanosecond before the promised %v", who, cost, promised)
	}
	m.clockTo(t, promised)
	if d := m.decide(t, who, cost, true); !d.Allowed {
		t.Fatalf("%v, cost %d: refused by %s at the promised %v", who, cost, d.Reason, promised)
	}
	m.clockTo(t, promised.Truncate(tick).Add(tick))
}

func (m *machine) refund(t *rapid.T) {
	if len(m.charges) == 0 {
		return // nothing to refund
	}
	c := rapid.SampledFrom(m.charges).Draw(t, "decision") // perhaps again
	if rapid.Bool().Draw(t, "quotas only") {
		m.fail(t, m.limiter.RefundQuotas(context.Background(), &c.decision))
		m.model.refund(c.charge, true)
	} else {
		m.fail(t, m.limiter.Refund(context.Background(), &c.decision))
		m.model.refund(c.charge, false)
	}
}

func (m *machine) fail(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func (m *machine) assign(t *rapid.T) {
	id := rapid.SampledFrom(tenantIDs).Draw(t, "tenant")
	name := rapid.SampledFrom(append(tierNames, "")).Draw(t, "tier")
	m.model.clock++
	assignment := modelAssignment{name, m.model.clock}
	switch local := rapid.Bool().Draw(t, "local"); {
	case local && name == "":
		m.tiers.Unassign(id)
		delete(m.model.local, id)
	case local:
		m.fail(t, m.tiers.Assign(id, name))
		m.model.local[id] = assignment
	default:
		m.fail(t, m.limiter.SetTier(context.Background(), id, name))
		m.model.stored[id] = assignment
	}
	m.model.settle()
}

// TestLimiter_DecidesAsTheModel does anything in any order. After each step everything that can be asked is compared:
// decisions with all their fields, usage with the sum of what was admitted, and what was forgotten with what may be.
func TestLimiter_DecidesAsTheModel(t *testing.T) {
	rapid.Check(t, decidesAsTheModel(nil))
}

func decidesAsTheModel(wrap func(quota.Store) quota.Store) func(*rapid.T) {
	return func(t *rapid.T) {
		m := newMachine(t, wrap)
		defer m.limiter.Close()
		t.Repeat(map[string]func(*rapid.T){
			"take":       m.take,
			"take more":  m.take,
			"take still": m.take,
			"refund":     m.refund,
			"assign":     m.assign,
			"define": func(t *rapid.T) {
				tier := drawTier(t, rapid.SampledFrom(tierNames).Draw(t, "name"))
				m.fail(t, m.tiers.Define(tier))
				m.model.define(tier)
			},
			"reset": func(t *rapid.T) {
				id := rapid.SampledFrom(tenantIDs).Draw(t, "tenant")
				m.fail(t, m.limiter.Reset(context.Background(), id))
				if a := m.model.tenants[id]; a != nil && a.bucket != nil {
					a.bucket.add(a.bucket.burst)
				}
			},
			"wait": func(t *rapid.T) {
				ticks := rapid.OneOf(rapid.IntRange(1, 16), rapid.IntRange(1, 8*3600*30)).Draw(t, "ticks")
				m.clockTo(t, m.clock.Now().Add(time.Duration(ticks)*tick))
			},
			"step back": func(t *rapid.T) {
				m.clockTo(t, m.clock.Now().Add(-tick*time.Duration(rapid.IntRange(1, 30).Draw(t, "ticks"))))
			},
			"sweep": func(*rapid.T) { m.memory.Sweep() },
			"":      m.check,
		})
	}
}
