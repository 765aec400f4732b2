package quota_test

import (
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestLimiter_WaitForTheClusterCountsFromTheCallersClock(t *testing.T) {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Rate: 100, Burst: 100})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
	limiter, err := quota.New(quota.Config{
		Tiers:  tiers,
		Global: quota.Rate{PerSecond: 1, Burst: 1},
		Now:    func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer limiter.Close()

	if d, err := limiter.Take(t.Context(), tenant.Tenant{ID: "first"}, ""); err != nil || !d.Allowed {
		t.Fatalf("first take: %+v, error %v; want it allowed", d, err)
	}
	now = now.Add(-time.Second) // the cluster's next unit stays where it was: now two seconds ahead
	late := tenant.Tenant{ID: "late"}
	d, err := limiter.Take(t.Context(), late, "")
	if want := 2 * time.Second; err != nil || d.Reason != tenant.ReasonGlobal || d.RetryAfter != want {
		t.Fatalf("after a step back: %+v, error %v; want reason global after %v", d, err, want)
	}
	now = now.Add(d.RetryAfter)
	if d, err := limiter.Take(t.Context(), late, ""); err != nil || !d.Allowed {
		t.Errorf("after the promised wait: %+v, error %v; want it allowed", d, err)
	}
}
