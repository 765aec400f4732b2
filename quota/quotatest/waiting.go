package quotatest

import (
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

var waiting = []promise{
	{"a wait is the time until the bucket holds the cost, and is honoured", func(h *harness) {
		h.mustTake("acme", "quick", 2)
		r := h.mustRefuse("acme", "quick", 1, tenant.ReasonTenant, "quick")
		h.wantWait(r, 100*time.Millisecond)
		h.cfg.Advance(r.RetryAfter)
		h.mustTake("acme", "quick", 1)
		r = h.mustRefuse("acme", "quick", 2, tenant.ReasonTenant, "quick")
		h.wantWait(r, 200*time.Millisecond)
		h.cfg.Advance(r.RetryAfter)
		h.mustTake("acme", "quick", 2)
	}},
	{"a wait is not over early", func(h *harness) {
		if h.cfg.Drift > 0 {
			return // the clock may pass that moment by itself
		}
		h.mustTake("acme", "quick", 2)
		for range 9 {
			h.cfg.Advance(10 * time.Millisecond)
			h.mustRefuse("acme", "quick", 1, tenant.ReasonTenant, "quick")
		}
		h.cfg.Advance(10 * time.Millisecond)
		h.mustTake("acme", "quick", 1)
	}},
	{"a bucket regains its rate, up to its burst", func(h *harness) {
		h.mustTake("acme", "quick", 2)
		h.cfg.Advance(time.Second)
		h.mustTake("acme", "quick", 2)
		h.mustRefuse("acme", "quick", 1, tenant.ReasonTenant, "quick")
	}},
	{"the wait is for the last of the limits that are short", func(h *harness) {
		h.rules.Cluster = quota.Rate{PerSecond: 5, Burst: 4}
		h.mustTake("acme", "quick", 2)
		h.mustTake("other", "quick", 2)
		r := h.mustRefuse("acme", "quick", 1, tenant.ReasonTenant, "quick")
		h.wantWait(r, 200*time.Millisecond)
		h.cfg.Advance(r.RetryAfter)
		h.mustTake("acme", "quick", 1)
	}},
	{"the wait for a window is until it ends", func(h *harness) {
		h.count()
		h.nextSecond()
		h.mustTake("acme", "ticking", 5)
		r := h.mustRefuse("acme", "ticking", 1, tenant.ReasonWindow, "second")
		h.wantWait(r, time.Second)
		h.cfg.Advance(r.RetryAfter)
		h.mustTake("acme", "ticking", 5)
	}},
	{"at rate 0 the burst passes, and then nothing ever", func(h *harness) {
		r := h.mustTake("acme", "still", 10)
		if r.Full != quota.Never {
			h.Errorf("full after %v, want Never", r.Full)
		}
		if r = h.mustRefuse("acme", "still", 1, tenant.ReasonTenant, "still"); r.RetryAfter != quota.Never {
			h.Errorf("RetryAfter %v, want Never", r.RetryAfter)
		}
	}},
	{"full is the time until the bucket is full", func(h *harness) {
		if r := h.peek("acme", "quick"); r.Full != 0 {
			h.Errorf("new bucket is full after %v, want 0", r.Full)
		}
		r := h.mustTake("acme", "quick", 2)
		if r.Full > 200*time.Millisecond || r.Full < 200*time.Millisecond-h.cfg.Drift {
			h.Errorf("empty bucket is full after %v, want 200ms", r.Full)
		}
		h.cfg.Advance(r.Full)
		h.wantTokens("after that", h.peek("acme", "quick"), 2)
	}},
	{"a bucket that is not full is remembered, whatever else goes on", func(h *harness) {
		h.mustTake("acme", "still", 5)
		idle := time.Hour
		if h.cfg.Drift > 0 {
			idle = 20 * time.Millisecond
		}
		for range 5 {
			for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				h.mustTake(id, "quicker", 1)
			}
			h.cfg.Advance(idle)
		}
		h.wantTokens("half-spent bucket", h.peek("acme", "still"), 5)
		h.mustRefuse("acme", "still", 6, tenant.ReasonTenant, "still")
	}},
}

// wantWait checks a wait to the millisecond; by how far the clock moves of itself, less may be left of it.
func (h *harness) wantWait(r quota.Result, want time.Duration) {
	h.Helper()
	if r.RetryAfter > want+time.Millisecond || r.RetryAfter < want-time.Millisecond-h.cfg.Drift {
		h.Errorf("RetryAfter %v, want %v", r.RetryAfter, want)
	}
}
