package quota

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// DefaultOperation is the key of [Costs] for operations that have none of their own.
const DefaultOperation = "default"

// maxUnits bounds costs and the cluster's burst as tenant bounds bursts and quotas: the largest integer that a
// structured HTTP field carries (RFC 9651), far below where float64 stops telling whole numbers apart.
const maxUnits = 999_999_999_999_999

// Costs are the units that operations cost, by name: 0, which is free, or more.
type Costs map[string]int

// Rate is a token bucket. The zero Rate is none.
type Rate struct {
	// PerSecond is how many units the bucket regains a second. [tenant.Unlimited]: there is no bucket.
	PerSecond float64
	// Burst is how many units it holds.
	Burst int
}

// Config configures a [Limiter].
type Config struct {
	// Tiers is the catalogue of plans. Required. Each tier needs a Burst, unless its Rate is [tenant.Unlimited]; this
	// holds for tiers that are defined later too.
	Tiers *tenant.Tiers
	// Costs by operation. An operation that is not in it costs Costs[DefaultOperation], 1 where that is unset.
	Costs Costs
	// Global is a bucket that all tenants share. Zero: none. No cost may exceed its Burst.
	Global Rate
	// GlobalReserve is the last fraction of Global.Burst, 0 or more and less than 1, that serves only tenants whose own
	// bucket is at least half full before the request, so that many tenants within their limits cannot lock out a quiet
	// one. A cost above the rest of the burst is served to those only, and never on an unlimited tier, which has no
	// bucket to be half full. Zero: none. It needs a Global.
	GlobalReserve float64
	// Store keeps the state. Nil: a [Memory], which Close closes. A store that is given stays the caller's to close.
	Store Store
	// Now is the clock of the store in this process, called from any goroutine. Nil: time.Now. A Store that is given
	// has its own clock.
	Now func() time.Time
}

// check returns every fault of cfg that does not concern the tiers.
func (cfg *Config) check() error {
	var errs []error
	fail := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("quota: %s is %v, want %s", field, value, want))
	}
	if cfg.Tiers == nil {
		fail("Tiers", "nil", "a catalogue of tiers")
	}
	for _, operation := range slices.Sorted(maps.Keys(cfg.Costs)) {
		if cost := cfg.Costs[operation]; cost < 0 || int64(cost) > maxUnits {
			fail(fmt.Sprintf("Costs[%s]", operation), cost, fmt.Sprintf("0 to %d", int64(maxUnits)))
		} else if burst := cfg.Global.Burst; burst > 0 && cost > burst {
			fail(fmt.Sprintf("Costs[%s]", operation), cost, fmt.Sprintf("at most Global.Burst, %d", burst))
		}
	}
	cfg.Global.check("Global", fail)
	if reserve := cfg.GlobalReserve; !(reserve >= 0 && reserve < 1) { // NaN is neither
		fail("GlobalReserve", reserve, "0 or more, and less than 1")
	} else if reserve > 0 && cfg.Global == (Rate{}) {
		fail("GlobalReserve", reserve, "0 where there is no Global bucket")
	}
	return errors.Join(errs...)
}

func (r Rate) check(field string, fail func(field string, value any, want string)) {
	if r == (Rate{}) {
		return
	}
	if math.IsNaN(r.PerSecond) || math.IsInf(r.PerSecond, 0) || r.PerSecond <= 0 {
		fail(field+".PerSecond", r.PerSecond, "a finite number above 0 (or "+field+" left zero, for no such bucket)")
	}
	if r.Burst <= 0 || int64(r.Burst) > maxUnits {
		fail(field+".Burst", r.Burst, fmt.Sprintf("1 to %d (or %s left zero, for no such bucket)", int64(maxUnits), field))
	}
}

// checkTier returns an error where t does not suit a limiter.
func checkTier(t tenant.Tier) error {
	if t.Burst == 0 && t.Rate != tenant.Unlimited {
		return fmt.Errorf("quota: tier %s: Burst is 0, want 1 or more (or Rate tenant.Unlimited, for no bucket)", t.Name)
	}
	return nil
}
