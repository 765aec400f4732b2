package slots

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// Ever new tenants, each with its credit and one request, do not shut out one who has been served before: not even where
// they are as many as the slots can serve.
func TestCore_EverNewTenantsDoNotStarveAnOldOne(t *testing.T) {
	for _, every := range []int64{9500 * ms / 1000, 10 * ms} {
		load := flood(0, "old", 100, 10*ms)
		load = append(load, flood(0, "other", 100, 10*ms)...)
		load = append(load, flood(2100*ms, "old", 3, 10*ms)...)
		for i := int64(0); i*every < 60*second; i++ {
			load = append(load, arrival{at: 2*second + i*every, tenant: fmt.Sprint("new", i), held: 10 * ms})
		}
		tiers := shares(t, map[string]int{"old": 1, "other": 1})
		out := simulation{capacity: 1, tiers: tiers, load: load}.run(t)
		for _, s := range out {
			if wait := s.started - s.at; s.tenant == "old" && s.at > 0 && wait > second {
				t.Errorf("a new tenant each %d us: the old one waited %d ms, want at most 1000", every/1000, wait/ms)
			}
		}
	}
}

// A tenant that holds its share and asks for more slots than the others leave free has none kept for it.
func TestCore_NoSlotsAreKeptForATenantAtItsShare(t *testing.T) {
	load := []arrival{{tenant: "wide", held: 5 * second, width: 1}, {at: 1, tenant: "wide", held: 10 * ms, width: 9}}
	load = append(load, flood(0, "narrow", 10_000, 10*ms)...)
	tiers := shares(t, map[string]int{"wide": 1, "narrow": 5})
	out := simulation{capacity: 10, tiers: tiers, load: load, until: 8 * second}.run(t)
	if got := slotTime(out, 10, 0, 5*second)["narrow"]; got < .89 {
		t.Errorf("the others had %.2f of the slot time, want the 0.9 that nobody else could use", got)
	}
	wide := slices.IndexFunc(out, func(s served) bool { return s.width == 9 })
	if wide < 0 || out[wide].started > 5*second+ahead+100*ms { // a tenant's past costs it so much
		t.Error("the wide request was not served once its tenant was below its share")
	}
}

// To ask and be refused is no use of the service: the past is lived down meanwhile.
func TestCore_RefusalsDoNotKeepThePastAlive(t *testing.T) {
	c := New(Config{Capacity: 1, Tiers: shares(t, map[string]int{"a": 1}), MaxQueue: 9, MaxWaiting: 9})
	a, b := &Request{}, &Request{}
	c.Enter(0, a, tenant.Tenant{ID: "a"})
	c.Leave(5*second, a)
	c.Enter(5*second, b, tenant.Tenant{ID: "b"})
	for at := 6 * int64(second); at < 14*second; at += second {
		c.TryEnter(at, new(Request), tenant.Tenant{ID: "a"})
	}
	c.Enter(14*second, a, tenant.Tenant{ID: "a"})
	if lead := c.lanes["a"].tag - c.virtual; lead > ahead/10+1 {
		t.Errorf("after nine seconds the tenant is %.0f ms ahead, want at most 100", lead/float64(ms))
	}
}

// Of the capacity that others do not need a tenant gets its part too, so that its burst is not refused for what it is
// sure of only.
func TestCore_PredictionCountsThePartOfWhatIsFree(t *testing.T) {
	c := New(Config{Capacity: 10, Tiers: shares(t, map[string]int{"a": 1, "b": 1, "c": 1}), MaxQueue: 99, MaxWaiting: 999})
	of := func(id string) tenant.Tenant { return tenant.Tenant{ID: id, Tier: id} }
	for i := range int64(30) { // a's requests hold for a second
		r := &Request{}
		c.Enter(i*second, r, of("a"))
		c.Leave((i+1)*second, r)
	}
	now := int64(30 * second)
	c.Enter(now, new(Request), of("c"))
	for range 60 {
		c.Enter(now, new(Request), of("b"))
	}
	for i := range 15 { // at a third of ten slots, served within 5 s
		r := &Request{Deadline: now + 5*second}
		if c.Enter(now, r, of("a")); r.State == Refused {
			t.Fatalf("%d requests wait, and the next is refused", i)
		}
	}
}
