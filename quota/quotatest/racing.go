package quotatest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// racers is how many goroutines race, and laps how often each tries.
const racers, laps = 8, 25

var racing = []promise{
	{"of many at once exactly the burst passes", func(h *harness) {
		h.count()
		var admitted atomic.Int64
		h.race(func(int) {
			if h.tryTake("acme", "crowd", 1).Allowed {
				admitted.Add(1)
			}
		})
		if got := admitted.Load(); got != 25 {
			h.Errorf("admitted %d, want the burst of 25", got)
		}
		h.wantSpent("after the race", "acme", "crowd", quota.Day, 25)
	}},
	{"of many tenants at once exactly the cluster's burst passes, and each unit is some tenant's", func(h *harness) {
		h.limitCluster(30)
		var admitted [racers]atomic.Int64
		h.race(func(racer int) {
			if h.tryTake(fmt.Sprintf("tenant-%d", racer), "pro", 1).Allowed {
				admitted[racer].Add(1)
			}
		})
		var sum int64
		for racer := range admitted {
			own := admitted[racer].Load()
			sum += own
			h.wantTokens("after the race", h.peek(fmt.Sprintf("tenant-%d", racer), "pro"), float64(60-own))
		}
		if sum != 30 {
			h.Errorf("admitted %d, want the cluster's 30", sum)
		}
	}},
	{"of many at once none takes from the reserve that is not half full", func(h *harness) {
		h.limitCluster(40)
		h.reserve(0.25)
		var admitted atomic.Int64
		h.race(func(int) {
			if h.tryTake("open", "open", 1).Allowed {
				admitted.Add(1)
			}
		})
		if got := admitted.Load(); got != 30 {
			h.Errorf("admitted %d, want the 30 above the reserve", got)
		}
		h.mustTake("acme", "free", 10)
	}},
	{"a refusal is never seen as a debit by another", func(h *harness) {
		// The odd racers cannot be admitted: their tenant is empty. If they held the cluster's last units for a moment, an
		// even one would be refused.
		h.limitCluster(20)
		h.mustTake("empty", "free", 10)
		h.race(func(racer int) {
			if racer%2 == 1 {
				if h.tryTake("empty", "free", 10).Allowed {
					h.Error("an empty tenant was admitted")
				}
				return
			}
			r := h.tryTake("open", "open", 1)
			if !r.Allowed {
				h.Error("refused for the sake of a refused request")
			} else if err := h.store.Refund(h.Context(), h.rules, []quota.Charge{r.Charge}); err != nil {
				h.Errorf("Refund: %v", err)
			}
		})
	}},
	{"takes and refunds at once add up", func(h *harness) {
		h.count()
		h.limitCluster(1000)
		h.race(func(racer int) {
			if r := h.tryTake("acme", "planned-pro", 1); r.Allowed {
				if err := h.store.Refund(h.Context(), h.rules, []quota.Charge{r.Charge}); err != nil {
					h.Errorf("Refund: %v", err)
				}
			}
		})
		h.wantTokens("after the race", h.peek("acme", "planned-pro"), 60)
		h.wantSpent("after the race", "acme", "planned-pro", quota.Day, 0)
		h.mustTake("open", "open", 1000)
	}},
}

// race runs f laps times in each of racers goroutines, from a common start.
func (h *harness) race(f func(racer int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for racer := range racers {
		wg.Go(func() {
			<-start
			for range laps {
				f(racer)
			}
		})
	}
	close(start)
	wg.Wait()
}

// tryTake is take for goroutines, which must not end the test.
func (h *harness) tryTake(id, tier string, cost int) quota.Result {
	calls := []quota.Call{{Tenant: id, Asserted: tenant.Assertion{Tier: tier}, Cost: cost}}
	if err := h.store.Take(h.Context(), h.rules, calls); err != nil {
		h.Errorf("Take(%s, %d): %v", id, cost, err)
	}
	return calls[0].Result
}
