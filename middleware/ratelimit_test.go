package middleware_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// rateHeaders picks the headers that say what is left; the reset as seconds from now.
func rateHeaders(h http.Header) map[string]string {
	got := map[string]string{}
	for _, name := range []string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit", "Retry-After",
	} {
		if v := h.Values(name); len(v) > 0 {
			got[name] = v[0]
			if len(v) > 1 {
				got[name] = "more than one"
			}
		}
	}
	if reset, err := strconv.ParseInt(got["X-RateLimit-Reset"], 10, 64); err == nil {
		got["X-RateLimit-Reset"] = "+" + strconv.FormatInt(reset-time.Now().Unix(), 10)
	}
	return got
}

// The headers of an answer, with a clock that starts at midnight UTC on 1 January 2000.
func TestRateHeaders_Golden(t *testing.T) {
	for _, c := range []struct {
		name, who string
		requests  int
		sleep     time.Duration // before the last request
		cost      int
		status    int
		want      map[string]string
	}{
		{"first request", "a free", 1, 0, 1, 200, map[string]string{
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "9", "X-RateLimit-Reset": "+1",
			"RateLimit-Policy": `"free";q=10;w=5`, "RateLimit": `"free";r=9;t=1`}},
		{"last request", "a free", 10, 0, 1, 200, map[string]string{
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "+5",
			"RateLimit-Policy": `"free";q=10;w=5`, "RateLimit": `"free";r=0;t=1`}},
		{"refused", "a free", 11, 0, 1, 429, map[string]string{
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "+5", "Retry-After": "1",
			"RateLimit-Policy": `"free";q=10;w=5`, "RateLimit": `"free";r=0;t=1`}},
		{"free of charge on a full bucket", "a free", 1, 0, 0, 200, map[string]string{
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "10", "X-RateLimit-Reset": "+0",
			"RateLimit-Policy": `"free";q=10;w=5`, "RateLimit": `"free";r=10`}},
		{"several units short", "a free", 3, 0, 4, 429, map[string]string{
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "2", "X-RateLimit-Reset": "+4", "Retry-After": "1",
			"RateLimit-Policy": `"free";q=10;w=5`, "RateLimit": `"free";r=2;t=1`}},
		{"above the plan", "a free", 1, 0, 11, 429, map[string]string{
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "10", "X-RateLimit-Reset": "+0",
			"RateLimit-Policy": `"free";q=10;w=5`, "RateLimit": `"free";r=10`}},
		{"calendar quota", "a daily", 1, 1500 * time.Millisecond, 1, 200, map[string]string{
			"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "+2",
			"RateLimit-Policy": `"daily";q=5;w=5, "day";q=10;w=86400`, "RateLimit": `"daily";r=4;t=1, "day";r=9;t=86399`}},
		{"refused before the day ends", "a daily", 6, 0, 1, 429, map[string]string{
			"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "+5", "Retry-After": "1",
			"RateLimit-Policy": `"daily";q=5;w=5, "day";q=10;w=86400`, "RateLimit": `"daily";r=0;t=1, "day";r=5`}},
		{"calendar quota alone, in January", "a monthly", 1, 0, 1, 200, map[string]string{
			"RateLimit-Policy": `"month";q=100;w=2678400`, "RateLimit": `"month";r=99;t=2678400`}},
		{"calendar quota alone, in February", "a monthly", 1, 31 * 24 * time.Hour, 1, 200, map[string]string{
			"RateLimit-Policy": `"month";q=100;w=2505600`, "RateLimit": `"month";r=99;t=2505600`}},
		{"rate 0", "a once", 1, 0, 1, 200, map[string]string{
			"X-RateLimit-Limit": "3", "X-RateLimit-Remaining": "2", "RateLimit-Policy": `"once";q=3`, "RateLimit": `"once";r=2`}},
		{"rate 0, spent", "a once", 4, 0, 1, 429, map[string]string{
			"X-RateLimit-Limit": "3", "X-RateLimit-Remaining": "0", "RateLimit-Policy": `"once";q=3`, "RateLimit": `"once";r=0`}},
		{"unlimited", "a unlimited", 1, 0, 1, 200, map[string]string{}},
		{"nobody", "", 1, 0, 1, 401, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, middleware.Config{
					Resolver: named, Quota: newLimiter(t, quota.Config{Costs: quota.Costs{quota.DefaultOperation: c.cost}}),
				})
				for name, h := range map[string]http.Handler{"b": g.Handler(ok), "c": g.Tenant(g.Quota(g.Slots(g.Handler(ok))))} {
					who := c.who
					if who != "" {
						who = name + who[1:]
					}
					times(c.requests-1, h, who, "/")
					time.Sleep(c.sleep)
					c.sleep = 0 // once is enough to be at that time
					w := get(h, who, "/")
					if diff := cmp.Diff(c.want, rateHeaders(w.Header())); w.Code != c.status || diff != "" {
						t.Errorf("status %d, want %d; headers (-want +got):\n%s", w.Code, c.status, diff)
					}
				}
			})
		})
	}
}

func TestRateHeaders_OfASlotsRefusalSayNothingLaterThanRetryAfter(t *testing.T) {
	tiers, err := tenant.NewTiers("slow",
		tenant.Tier{Name: "slow", Rate: 0.1, Burst: 5, Share: 1, Quotas: tenant.Quotas{Day: 10}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		wait time.Duration
		want string
	}{
		{0, `"slow";r=4, "day";r=10`}, // Retry-After is 1
		{9 * time.Second, `"slow";r=4, "day";r=10`},
		{10 * time.Second, `"slow";r=4;t=10, "day";r=10`},
		{48 * time.Hour, `"slow";r=4;t=10, "day";r=10;t=86400`},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, middleware.Config{
				Resolver: named, Quota: newLimiter(t, quota.Config{Tiers: tiers}),
				Slots: refusing(&tenant.Refusal{Reason: tenant.ReasonShare, RetryAfter: c.wait}),
			})
			if got := get(g.Handler(ok), "acme", "/").Header().Get("RateLimit"); got != c.want {
				t.Errorf("with %v to wait for a slot RateLimit is %s, want %s", c.wait, got, c.want)
			}
		})
	}
}

func TestRateHeaders_StylesCanBeSwitchedOff(t *testing.T) {
	for styles, want := range map[middleware.RateHeaders][2]bool{
		0: {true, true}, middleware.XRateLimit: {true, false}, middleware.Draft11: {false, true},
		middleware.XRateLimit | middleware.Draft11: {true, true}, middleware.NoRateHeaders: {false, false},
	} {
		g := newGate(t, middleware.Config{Resolver: named, Quota: newLimiter(t, quota.Config{}), RateHeaders: styles})
		h := get(g.Handler(ok), "acme", "/").Header()
		if got := [2]bool{h.Get("X-RateLimit-Limit") != "", h.Get("RateLimit") != ""}; got != want {
			t.Errorf("styles %b: X-RateLimit and RateLimit %v, want %v", styles, got, want)
		}
	}
}
