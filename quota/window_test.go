package quota_test

import (
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestWindow_BoundsAreThoseOfUTC(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 59, 58, 999_999_999, time.FixedZone("UTC-9", -9*3600)) // 1 March 08:59:58.9 UTC
	for _, tt := range []struct {
		w          quota.Window
		start, end string
	}{
		{quota.Second, "2024-03-01T08:59:58Z", "2024-03-01T08:59:59Z"},
		{quota.Minute, "2024-03-01T08:59:00Z", "2024-03-01T09:00:00Z"},
		{quota.Hour, "2024-03-01T08:00:00Z", "2024-03-01T09:00:00Z"},
		{quota.Day, "2024-03-01T00:00:00Z", "2024-03-02T00:00:00Z"},
		{quota.Month, "2024-03-01T00:00:00Z", "2024-04-01T00:00:00Z"},
	} {
		start, end := tt.w.Bounds(at)
		if got := start.Format(time.RFC3339Nano); got != tt.start {
			t.Errorf("%v starts at %s, want %s", tt.w, got, tt.start)
		}
		if got := end.Format(time.RFC3339Nano); got != tt.end {
			t.Errorf("%v ends at %s, want %s", tt.w, got, tt.end)
		}
		if s, e := tt.w.Bounds(start); !s.Equal(start) || !e.Equal(end) {
			t.Errorf("%v: its first instant is in %v to %v", tt.w, s, e)
		}
		if s, _ := tt.w.Bounds(end); !s.Equal(end) {
			t.Errorf("%v: the next one starts at %v, want %v", tt.w, s, end)
		}
	}
}

func TestLimiter_CalendarQuotaIsExactAndWaitsForTheWindowToEnd(t *testing.T) {
	f := newFixture(t, quota.Config{}, tenant.Tier{Name: "free", Rate: tenant.Unlimited,
		Quotas: tenant.Quotas{Second: 2, Minute: 3, Hour: 4, Day: 5, Month: 6}})
	f.clock.Advance(250 * time.Millisecond) // 1 March, 12:00:00.25
	waits := []struct {
		policy string
		wait   time.Duration
	}{
		{"second", 750 * time.Millisecond},
		{"minute", 59 * time.Second},
		{"hour", 59 * time.Minute},
		{"day", 11 * time.Hour},
		{"month", 30 * 24 * time.Hour},
	}
	f.mustTake("free", "GET /")
	for i, want := range waits {
		f.mustTake("free", "GET /")
		d := f.mustRefuse("free", "GET /", tenant.ReasonWindow, want.policy)
		if d.RetryAfter != want.wait {
			t.Errorf("%s: RetryAfter %v, want %v", want.policy, d.RetryAfter, want.wait)
		}
		if d.QuotaPolicy != want.policy || d.QuotaRemaining != 0 || d.QuotaReset != want.wait {
			t.Errorf("%s: tightest quota %q, %d left for %v", want.policy, d.QuotaPolicy, d.QuotaRemaining, d.QuotaReset)
		}
		if i == len(waits)-1 {
			break
		}
		f.clock.Advance(d.RetryAfter - 1)
		f.mustRefuse("free", "GET /", tenant.ReasonWindow, want.policy)
		f.clock.Advance(1)
	}
}

func TestLimiter_UsageIsTheSumOfWhatWasAdmitted(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: 1, Burst: 10, Quotas: tenant.Quotas{Minute: 12, Month: 100}},
		tenant.Tier{Name: "pro", Rate: 1, Burst: 10, Quotas: tenant.Quotas{Minute: 5}})
	var sum int64
	for _, operation := range []string{"3", "0", "11", "7", "1", "2"} {
		if d := f.take("free", operation); d.Allowed {
			sum += int64(d.Cost)
		}
	}
	all, err := f.Usage(t.Context(), tenant.Tenant{ID: "acme", Tier: "free"})
	must(t, err)
	now := f.clock.Now()
	equal(t, "usage", all, []quota.Usage{
		{Policy: "minute", Used: sum, Limit: 12, Start: now, End: now.Add(time.Minute)},
		{Policy: "month", Used: sum, Limit: 100, Start: now.Add(-12 * time.Hour), End: now.AddDate(0, 1, 0).Add(-12 * time.Hour)},
	})
	// On a smaller plan the usage stays what it is; nothing is left, and not less than nothing.
	equal(t, "on another tier", f.used("pro"), map[string]int64{"minute": sum})
	if d := f.take("pro", "1"); d.QuotaPolicy != "minute" || d.QuotaRemaining != 0 {
		t.Errorf("on another tier: %d left of %q, want 0 of minute", d.QuotaRemaining, d.QuotaPolicy)
	}
	f.clock.Advance(time.Minute)
	equal(t, "in the next minute", f.used("free"), map[string]int64{"minute": 0, "month": sum})
}

func TestLimiter_CostAboveAQuotaIsAgainstThePlan(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: 1, Burst: 20, Quotas: tenant.Quotas{Day: 5, Month: 50}})
	d := f.mustRefuse("free", "6", tenant.ReasonPlan, "day")
	if d.RetryAfter != quota.Never || d.Remaining != 20 || d.QuotaRemaining != 5 {
		t.Errorf("RetryAfter %v, Remaining %d, QuotaRemaining %d; want Never, 20, 5", d.RetryAfter, d.Remaining, d.QuotaRemaining)
	}
}

func TestLimiter_ShowsTheQuotaThatIsTightestInProportion(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Hour: 10, Day: 15}})
	if d := f.peek("free", "1"); d.QuotaPolicy != "hour" {
		t.Errorf("nothing used: %q, want hour: the fewer units of two as tight as each other", d.QuotaPolicy)
	}
	if d := f.mustTake("free", "5"); d.QuotaPolicy != "hour" || d.QuotaRemaining != 5 || d.QuotaLimit != 10 {
		t.Errorf("5 used: %d of %d left of %q, want 5 of 10 of hour", d.QuotaRemaining, d.QuotaLimit, d.QuotaPolicy)
	}
	f.clock.Advance(time.Hour)
	if d := f.mustTake("free", "2"); d.QuotaPolicy != "day" || d.QuotaRemaining != 8 {
		t.Errorf("an hour later: %d left of %q, want 8 of day", d.QuotaRemaining, d.QuotaPolicy)
	}
}

func TestLimiter_ClockThatStepsBackKeepsTheWindow(t *testing.T) {
	f := newFixture(t, quota.Config{Costs: perUnit()},
		tenant.Tier{Name: "free", Rate: tenant.Unlimited, Quotas: tenant.Quotas{Day: 5}})
	f.mustTake("free", "5")
	f.clock.Advance(12 * time.Hour) // the next day's first instant
	charged := f.mustTake("free", "3")
	f.clock.Advance(-time.Second) // the day before again
	equal(t, "usage", f.used("free"), map[string]int64{"day": 3})
	d := f.mustRefuse("free", "3", tenant.ReasonWindow, "day")
	if want := 24*time.Hour + time.Second; d.RetryAfter != want {
		t.Errorf("RetryAfter %v, want %v", d.RetryAfter, want)
	}
	must(t, f.Refund(t.Context(), &charged))
	f.mustTake("free", "2")
	f.clock.Advance(time.Second)
	equal(t, "usage", f.used("free"), map[string]int64{"day": 2})
}

// A time that cannot be told in nanoseconds since 1970, and a window that starts at second 0, are as good as others.
func TestLimiter_AnyYearWillDo(t *testing.T) {
	for _, start := range []time.Time{{}, time.Unix(0, 0), time.Date(2500, 12, 31, 23, 59, 59, 0, time.UTC)} {
		t.Run(start.String(), func(t *testing.T) {
			f := newFixtureAt(t, start, quota.Config{Costs: perUnit()},
				tenant.Tier{Name: "free", Rate: 1, Burst: 10, Quotas: tenant.Quotas{Second: 2, Month: 5}})
			d := f.mustTake("free", "2")
			if refused := f.mustRefuse("free", "1", tenant.ReasonWindow, "second"); refused.RetryAfter != time.Second {
				t.Errorf("RetryAfter %v, want 1s", refused.RetryAfter)
			}
			must(t, f.Refund(t.Context(), &d))
			equal(t, "usage", f.used("free"), map[string]int64{"second": 0, "month": 0})
			f.mustTake("free", "2")
			f.clock.Advance(time.Second)
			f.mustTake("free", "2")
		})
	}
}
