package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// series is one metric of a scrape.
type series struct {
	labels map[string]string
	value  float64 // of a counter or gauge; a histogram's count
}

// scrape returns the metrics of a gate by name.
func scrape(t testing.TB, g *middleware.Gate) map[string][]series {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(g)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]series{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			s := series{labels: map[string]string{}, value: m.GetCounter().GetValue() + m.GetGauge().GetValue()}
			s.value += float64(m.GetHistogram().GetSampleCount())
			for _, l := range m.GetLabel() {
				s.labels[l.GetName()] = l.GetValue()
			}
			byName[f.GetName()] = append(byName[f.GetName()], s)
		}
	}
	return byName
}

// value sums the metrics of a name that have all the labels, given as name and value in turn.
func value(t testing.TB, g *middleware.Gate, name string, labels ...string) (sum float64) {
	t.Helper()
	for _, s := range scrape(t, g)[name] {
		matches := true
		for i := 0; i < len(labels); i += 2 {
			matches = matches && s.labels[labels[i]] == labels[i+1]
		}
		if matches {
			sum += s.value
		}
	}
	return sum
}

func TestMetrics_CountEachRequestOnce(t *testing.T) {
	tiers := plans(t)
	g := newGate(t, middleware.Config{
		Resolver: named, Quota: newLimiter(t, quota.Config{Tiers: tiers}),
		Slots: newPool(t, fairslots.Config{Capacity: 4, Tiers: tiers}),
		Skip:  func(r *http.Request) bool { return r.URL.Path == "/healthz" }, Name: "api",
	})
	for name, h := range map[string]http.Handler{
		"whole": g.Handler(ok), "pieces": g.Tenant(g.Quota(g.Slots(ok))), "twice": g.Handler(g.Handler(ok)),
	} {
		for range 12 {
			get(h, name+" free", "/")
		}
		get(h, name+" gold", "/")
		get(h, "", "/")
		get(h, "", "/healthz")
	}
	for _, c := range []struct {
		want                  float64
		tenant, tier, outcome string
	}{
		{10, "whole", "free", "admitted"}, {3, "whole", "free", "refused"},
		{10, "pieces", "free", "admitted"}, {3, "pieces", "free", "refused"},
		{10, "twice", "free", "admitted"}, {3, "twice", "free", "refused"},
	} {
		got := value(t, g, "tenantgate_tenant_requests_total",
			"tenant", c.tenant, "tier", c.tier, "outcome", c.outcome, "gate", "api")
		if got != c.want {
			t.Errorf("%s on %s: %v %s, want %v", c.tenant, c.tier, got, c.outcome, c.want)
		}
	}
	for outcome, want := range map[string]float64{"admitted": 30, "refused": 9, "unauthenticated": 3, "skipped": 3} {
		if got := value(t, g, "tenantgate_requests_total", "outcome", outcome); got != want {
			t.Errorf("in all %v %s, want %v", got, outcome, want)
		}
	}
	if got := value(t, g, "tenantgate_requests_total", "reason", "tenant"); got != 9 {
		t.Errorf("%v refused for the tenant's rate, want 9", got)
	}
	if got := value(t, g, "tenantgate_unknown_tiers_total"); got != 3 {
		t.Errorf("%v unknown tiers, want 3", got)
	}
	if got := value(t, g, "tenantgate_tenant_slot_wait_seconds", "tenant", "twice"); got != 10 {
		t.Errorf("%v waits for a slot, want 10: one a request", got)
	}
}

func TestMetrics_GaugesFollowWhoRunsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, middleware.Config{Resolver: named, Slots: newBulkhead(t, bulkhead.Config{Capacity: 4})})
		goOn := make(chan struct{})
		h := g.Handler(busy(goOn))
		for range 3 {
			go get(h, "acme free", "/")
		}
		synctest.Wait()
		want := map[string]float64{
			"tenantgate_tenant_in_flight_requests": 2, "tenantgate_tenant_queued_requests": 1, "tenantgate_tenant_share_slots": 2,
			"tenantgate_in_flight_requests": 2, "tenantgate_queued_requests": 1, "tenantgate_share_slots": 2,
			"tenantgate_capacity_slots": 4,
		}
		check := func() {
			t.Helper()
			for name, want := range want {
				if got := value(t, g, name); got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
		}
		check()
		close(goOn)
		synctest.Wait()
		for _, name := range []string{"tenant_in_flight_requests", "tenant_queued_requests", "in_flight_requests", "queued_requests"} {
			want["tenantgate_"+name] = 0
		}
		check()
	})
}

func TestMetrics_StreamsOfTenantsAndOthersAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, middleware.Config{
			Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 4}), TopTenants: 1,
		})
		end := make(chan struct{})
		for _, who := range []string{"first pro", "first pro", "second free", "third pro"} {
			go get(g.Handler(stream(end)), who, "/")
			synctest.Wait()
		}
		for id, want := range map[string]float64{"first": 2, "__other__": 2} {
			if got := value(t, g, "tenantgate_tenant_streams", "tenant", id); got != want {
				t.Errorf("%v streams of %s, want %v", got, id, want)
			}
		}
		if got := value(t, g, "tenantgate_streams"); got != 4 {
			t.Errorf("%v streams in all, want 4", got)
		}
		close(end)
	})
}

func TestMetrics_FailedWaitsAreInTheHistogram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, middleware.Config{Resolver: named, Slots: newBulkhead(t, bulkhead.Config{Capacity: 1, MaxWait: time.Second})})
		goOn := make(chan struct{})
		h := g.Handler(busy(goOn))
		go get(h, "acme", "/")
		synctest.Wait()
		get(h, "acme", "/")
		close(goOn)
		synctest.Wait()
		if got := value(t, g, "tenantgate_slot_wait_seconds"); got != 2 {
			t.Errorf("%v waits, want 2", got)
		}
	})
}

func TestMetrics_WithoutSlotsInFlightAreThoseThatRun(t *testing.T) {
	g := newGate(t, middleware.Config{Resolver: named})
	h := g.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := value(t, g, "tenantgate_in_flight_requests"); got != 1 {
			t.Errorf("%v in flight, want 1", got)
		}
		if !middleware.Release(r.Context()) || middleware.Release(r.Context()) {
			t.Error("Release does not work once")
		}
		if got := value(t, g, "tenantgate_in_flight_requests"); got != 0 {
			t.Errorf("%v in flight after Release, want 0", got)
		}
	}))
	get(h, "acme", "/")
	if got := value(t, g, "tenantgate_in_flight_requests"); got != 0 {
		t.Errorf("%v in flight at the end", got)
	}
}

func TestMetrics_SurviveLint(t *testing.T) {
	g := newGate(t, middleware.Config{Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 4})})
	get(g.Handler(ok), "acme", "/")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(g)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMetrics_OneNameTwiceIsAnErrorAndTwoNamesAreNot(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, c := range []struct {
		name string
		want bool
	}{{"", true}, {"a", true}, {"b", true}, {"a", false}, {"", false}} {
		err := registry.Register(newGate(t, middleware.Config{Name: c.name}))
		if (err == nil) != c.want {
			t.Errorf("gate %q: %v", c.name, err)
		}
		var already prometheus.AlreadyRegisteredError
		if err != nil && !errors.As(err, &already) {
			t.Errorf("gate %q: %v, want an AlreadyRegisteredError", c.name, err)
		}
	}
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

func TestMetrics_BoundedWithAHundredThousandTenants(t *testing.T) {
	const tenants, top = 100_000, 50
	g := newGate(t, middleware.Config{Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 4}), TopTenants: top})
	h := g.Handler(ok)
	for i := range tenants {
		get(h, fmt.Sprintf("t%d free", i), "/")
	}
	families := scrape(t, g)
	for name, all := range families {
		if !strings.HasPrefix(name, "tenantgate_tenant_") {
			continue
		}
		seen := map[string]bool{}
		for _, s := range all {
			seen[s.labels["tenant"]] = true
		}
		if len(seen) > top+1 || !seen["__other__"] {
			t.Errorf("%s has %d tenants", name, len(seen))
		}
	}
	if got := value(t, g, "tenantgate_tenant_requests_total", "tenant", "__other__"); got != tenants-top {
		t.Errorf("%v requests of others, want %d", got, tenants-top)
	}
	if got := value(t, g, "tenantgate_requests_total"); got != tenants {
		t.Errorf("%v requests in all, want %d", got, tenants)
	}
}

func TestMetrics_BoundedHoweverManyComeAtOnce(t *testing.T) {
	for range 20 {
		g := newGate(t, middleware.Config{Resolver: named, TopTenants: 2})
		h := g.Handler(ok)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 32 {
			wg.Go(func() { <-start; get(h, fmt.Sprint("t", i), "/") })
		}
		close(start)
		wg.Wait()
		if n := len(scrape(t, g)["tenantgate_tenant_in_flight_requests"]); n != 3 {
			t.Fatalf("%d tenants have metrics, want 2 and the others", n)
		}
	}
}

func TestMetrics_NegativeTopTenantsTrackNobody(t *testing.T) {
	g := newGate(t, middleware.Config{Resolver: named, TopTenants: -1})
	get(g.Handler(ok), "acme", "/")
	if got := value(t, g, "tenantgate_tenant_requests_total", "tenant", "__other__"); got != 1 {
		t.Errorf("%v requests of others, want 1", got)
	}
}

// talkative is a pool that says what no label may be.
type talkative struct{ slotsFunc }

func (talkative) TierOf(tenant.Tenant) string { return "gold\xff" }

func TestMetrics_NoLabelComesFromOutside(t *testing.T) {
	g := newGate(t, middleware.Config{
		Resolver: named,
		Slots: talkative{func(_ context.Context, t tenant.Tenant) (func(), error) {
			return nil, &tenant.Refusal{Reason: "moon\xff", Tier: "\xff", Policy: "\xff"}
		}},
	})
	if w := get(g.Handler(ok), "acme gold\xff", "/"); w.Code != 503 {
		t.Errorf("status %d, want 503", w.Code)
	}
	if got := value(t, g, "tenantgate_requests_total", "tier", "", "outcome", "refused", "reason", "other"); got != 1 {
		t.Errorf("%v counted, want 1: %v", got, scrape(t, g)["tenantgate_requests_total"])
	}
}
