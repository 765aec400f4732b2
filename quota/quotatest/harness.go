package quotatest

import (
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// slow is a rate at which nothing to speak of comes back while a test runs.
const slow = 1.0 / 3600

var catalogue = []tenant.Tier{
	{Name: "free", Rate: slow, Burst: 10},
	{Name: "pro", Rate: slow, Burst: 60},
	{Name: "crowd", Rate: slow, Burst: 25},
	{Name: "still", Rate: 0, Burst: 10},
	{Name: "quick", Rate: 10, Burst: 2},
	{Name: "quicker", Rate: 100, Burst: 2},
	{Name: "steady", Rate: 10, Burst: 10},
	{Name: "open", Rate: tenant.Unlimited},
	{Name: "ticking", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Second: 5}},
	{Name: "planned", Rate: slow, Burst: 10, Quotas: tenant.Quotas{Day: 6, Month: 8}},
	{Name: "planned-pro", Rate: slow, Burst: 60, Quotas: tenant.Quotas{Day: 30, Month: 50}},
	{Name: "planned-open", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Day: 30, Month: 50}},
}

// harness is the store under one test, and what a limiter would pass it.
type harness struct {
	testing.TB
	cfg   Config
	store quota.Store
	rules quota.Rules
}

func newHarness(t testing.TB, cfg Config) *harness {
	t.Helper()
	if cfg.New == nil || cfg.Advance == nil {
		t.Fatal("quotatest: Config.New and Config.Advance are required")
	}
	tiers, err := tenant.NewTiers("free", catalogue...)
	if err != nil {
		t.Fatal(err)
	}
	store := cfg.New(t)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &harness{TB: t, cfg: cfg, store: store, rules: quota.Rules{Tiers: tiers}}
}

// count has the store count the windows that some tier of the catalogue limits.
func (h *harness) count() {
	for _, tier := range catalogue {
		for w := range quota.Window(quota.Windows) {
			if w.Limit(tier.Quotas) > 0 {
				h.rules.Counted |= 1 << w
			}
		}
	}
}

// limitCluster puts a bucket of burst units before all tenants; 0: none.
func (h *harness) limitCluster(burst int) {
	h.rules.Cluster = quota.Rate{}
	if burst > 0 {
		h.rules.Cluster = quota.Rate{PerSecond: slow, Burst: burst}
	}
}

// reserve keeps the last fraction of the cluster's bucket for tenants whose own is half full.
func (h *harness) reserve(fraction float64) { h.rules.Reserve = fraction }

// do has the store decide one call.
func (h *harness) do(call quota.Call) quota.Result {
	h.Helper()
	return h.batch(call)[0].Result
}

// batch has the store decide calls.
func (h *harness) batch(calls ...quota.Call) []quota.Call {
	h.Helper()
	if err := h.store.Take(h.Context(), h.rules, calls); err != nil {
		h.Fatalf("Take(%+v): %v", calls, err)
	}
	return calls
}

// take takes cost as tenant id, which says that it is on the tier.
func (h *harness) take(id, tier string, cost int) quota.Result {
	h.Helper()
	return h.do(quota.Call{Tenant: id, Asserted: tenant.Assertion{Tier: tier}, Cost: cost})
}

// mustTake is take that has to be allowed.
func (h *harness) mustTake(id, tier string, cost int) quota.Result {
	h.Helper()
	r := h.take(id, tier, cost)
	if !r.Allowed {
		h.Fatalf("taking %d as %s (%s): refused by %s %q, want allowed", cost, id, tier, r.Reason, r.Policy)
	}
	return r
}

// mustRefuse is take that has to be refused by the limit.
func (h *harness) mustRefuse(id, tier string, cost int, reason tenant.Reason, policy string) quota.Result {
	h.Helper()
	r := h.take(id, tier, cost)
	if r.Allowed || r.Reason != reason || r.Policy != policy {
		h.Fatalf("taking %d as %s (%s): allowed %t, reason %q, policy %q; want refused, %q, %q",
			cost, id, tier, r.Allowed, r.Reason, r.Policy, reason, policy)
	}
	if r.RetryAfter <= 0 {
		h.Errorf("taking %d as %s (%s): refused with RetryAfter %v, want more than 0", cost, id, tier, r.RetryAfter)
	}
	if r.Charge.Units != 0 {
		h.Errorf("taking %d as %s (%s): refused with a charge of %d", cost, id, tier, r.Charge.Units)
	}
	return r
}

// peek returns how things stand for tenant id.
func (h *harness) peek(id, tier string) quota.Result {
	h.Helper()
	return h.do(quota.Call{Tenant: id, Asserted: tenant.Assertion{Tier: tier}, Peek: true})
}

// refund gives back charges.
func (h *harness) refund(charges ...quota.Charge) {
	h.Helper()
	if err := h.store.Refund(h.Context(), h.rules, charges); err != nil {
		h.Fatalf("Refund(%+v): %v", charges, err)
	}
}

// assign assigns tenant id the tier as of so many seconds after some instant.
func (h *harness) assign(id, tier string, asOf int) {
	h.Helper()
	at := time.Unix(1_700_000_000+int64(asOf), 0)
	if err := h.store.SetTier(h.Context(), h.rules, id, tenant.Assertion{Tier: tier, AsOf: at}); err != nil {
		h.Fatalf("SetTier(%s, %q): %v", id, tier, err)
	}
}

// settle has the store settle the buckets that a change of the catalogue concerns.
func (h *harness) settle(id string) {
	h.Helper()
	if err := h.store.Settle(h.Context(), h.rules, id); err != nil {
		h.Fatalf("Settle(%q): %v", id, err)
	}
}

// wantTokens checks what is left in a bucket that regains next to nothing.
func (h *harness) wantTokens(what string, r quota.Result, want float64) {
	h.Helper()
	if r.Tokens < want || r.Tokens > want+0.5 {
		h.Errorf("%s: %v tokens, want %v", what, r.Tokens, want)
	}
}

// wantSpent checks the calendar usage of tenant id, as Usage and as a peek say it.
func (h *harness) wantSpent(what, id, tier string, w quota.Window, want int64) {
	h.Helper()
	call := quota.Call{Tenant: id, Asserted: tenant.Assertion{Tier: tier}}
	if err := h.store.Usage(h.Context(), h.rules, &call); err != nil {
		h.Fatalf("Usage(%s): %v", id, err)
	}
	if got := call.Result.Spent.Units[w]; got != want {
		h.Errorf("%s: usage of the %v is %d, want %d", what, w, got, want)
	}
	if got := h.peek(id, tier).Spent.Units[w]; got != want {
		h.Errorf("%s: spent in the %v, as Take says, is %d, want %d", what, w, got, want)
	}
}

// nextSecond moves the clock to the first instant of a second, so that one is not left while the test runs.
func (h *harness) nextSecond() {
	h.Helper()
	h.cfg.Advance(h.left(quota.Second))
}

// left returns the time until the store's window w ends.
func (h *harness) left(w quota.Window) time.Duration {
	h.Helper()
	var call quota.Call
	call.Tenant = "clock"
	if err := h.store.Usage(h.Context(), h.rules, &call); err != nil {
		h.Fatalf("Usage: %v", err)
	}
	_, end := w.Bounds(call.Result.Spent.At)
	return end.Sub(call.Result.Spent.At)
}
