package quotatest

import (
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

var windows = []promise{
	{"every counted window counts what was admitted, to the unit, for every tier", func(h *harness) {
		h.rules.Counted = 1<<quota.Windows - 1
		h.nextSecond()
		var want int64
		for cost := range 4 {
			h.mustTake("acme", "pro", cost)
			want += int64(cost)
		}
		h.mustRefuse("acme", "pro", 61, tenant.ReasonPlan, "pro")
		for w := range quota.Window(quota.Windows) {
			h.wantSpent("after takes of 0, 1, 2 and 3", "acme", "pro", w, want)
			h.wantSpent("of another tenant", "other", "pro", w, 0)
		}
	}},
	{"usage survives a change of tier inside the window, both ways", func(h *harness) {
		h.count()
		h.mustTake("acme", "planned", 6)
		h.mustTake("acme", "planned-open", 20)
		h.wantSpent("after an upgrade", "acme", "planned-open", quota.Day, 26)
		h.mustRefuse("acme", "planned", 1, tenant.ReasonWindow, "month")
		h.mustTake("acme", "planned-open", 4)
		h.mustRefuse("acme", "planned-open", 1, tenant.ReasonWindow, "day")
	}},
	{"a window that ends takes its usage with it, and no other's", func(h *harness) {
		h.rules.Counted = 1<<quota.Windows - 1
		for w := range quota.Window(quota.Windows) {
			if w > quota.Second && h.cfg.Drift > 0 {
				break // that takes a minute or more
			}
			id := "tenant-" + w.String()
			h.nextSecond()
			before := h.mustTake(id, "open", 3).Spent
			h.cfg.Advance(h.left(w))
			h.wantSpent("in the next one", id, "open", w, 0)
			after := h.mustTake(id, "open", 2).Spent
			for v := range quota.Window(quota.Windows) {
				want := int64(5)
				if startOf(v, after.At).After(startOf(v, before.At)) {
					want = 2
				}
				if got := after.Units[v]; got != want {
					h.Errorf("after the end of a %v: spent %d in the %v, want %d", w, got, v, want)
				}
			}
		}
	}},
	{"a refused request does not open a window", func(h *harness) {
		h.count()
		h.mustRefuse("acme", "planned", 7, tenant.ReasonPlan, "day")
		h.wantSpent("after a refusal", "acme", "planned", quota.Month, 0)
	}},
}

func startOf(w quota.Window, t time.Time) time.Time {
	start, _ := w.Bounds(t)
	return start
}
