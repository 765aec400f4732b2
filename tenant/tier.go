package tenant

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Unlimited as a [Tier.Rate] means that the tier has no token bucket. It is the only way to say so.
const Unlimited float64 = math.MaxFloat64

// maxUnits bounds bursts and quotas: the largest integer that a structured HTTP field carries (RFC 9651).
const maxUnits = 999_999_999_999_999

// maxSlots bounds shares, ceilings and streams.
const maxSlots = 1_000_000_000

// policyNames are the limits that no tier may be called like: a refusal's Policy must say which of them spoke.
var policyNames = []string{"cluster", "second", "minute", "hour", "day", "month"}

// Tier is a plan: what a tenant on it may do. A limiter reads Rate, Burst and Quotas, a pool Share, Ceiling and Streams;
// each refuses at start-up a tier that lacks what it needs.
type Tier struct {
	// Name has the alphabet of tenant IDs and is none of the policy names cluster, second, minute, hour, day, month.
	Name string
	// Rate is how many units a tenant's bucket regains a second. 0: nothing comes back once the burst is spent.
	// [Unlimited]: no bucket.
	Rate float64
	// Burst is how many units the bucket holds. 0 is an error from a limiter, unless Rate is Unlimited.
	Burst int
	// Share is how many slots the tenant is sure of. 0 is an error from a pool.
	Share int
	// Ceiling is how many slots it may hold at most while others are free; at least Share. 0: the whole capacity.
	Ceiling int
	// Streams is how many requests it may run at once beside its slots, as streams: such that go on for long and take
	// little, and have said so. 0: none.
	Streams int
	// Quotas are calendar quotas beside the rate. Zero: none.
	Quotas Quotas
}

// Quotas are how many units may be spent in one UTC calendar window each. 0: no such quota.
type Quotas struct{ Second, Minute, Hour, Day, Month int64 }

// check returns every fault of t, each naming tier and field.
func (t Tier) check() error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("tenant: tier %.140q: %s", t.Name, fmt.Sprintf(format, args...)))
	}
	within := func(field string, n, most int64) {
		if n < 0 || n > most {
			fail("%s is %d, want 0 to %d", field, n, most)
		}
	}
	switch {
	case slices.Contains(policyNames, t.Name):
		fail("Name is the name of a policy")
	case !validName(t.Name):
		fail("Name must be 1 to %d letters, digits, '.', '_' and '-', a letter or digit first", maxNameLen)
	}
	if math.IsNaN(t.Rate) || math.IsInf(t.Rate, 0) || t.Rate < 0 {
		fail("Rate is %v, want a finite number of 0 or more", t.Rate)
	}
	within("Burst", int64(t.Burst), maxUnits)
	within("Share", int64(t.Share), maxSlots)
	within("Ceiling", int64(t.Ceiling), maxSlots)
	within("Streams", int64(t.Streams), maxSlots)
	if 0 < t.Ceiling && t.Ceiling < t.Share {
		fail("Ceiling is %d, want 0 or at least the Share of %d", t.Ceiling, t.Share)
	}
	within("Quotas.Second", t.Quotas.Second, maxUnits)
	within("Quotas.Minute", t.Quotas.Minute, maxUnits)
	within("Quotas.Hour", t.Quotas.Hour, maxUnits)
	within("Quotas.Day", t.Quotas.Day, maxUnits)
	within("Quotas.Month", t.Quotas.Month, maxUnits)
	return errors.Join(errs...)
}
