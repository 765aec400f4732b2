package quota

import (
	"math"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/internal/bucket"
	"github.com/tenantgate/tenantgate/tenant"
)

// account is what a [Memory] remembers of one tenant. One that was never made, and one that was forgotten, is the zero
// account: a bucket that starts full, nothing asserted, nothing spent.
//
// While a tenant is on an unlimited tier its bucket stays under the limit that it was under before, and refills: a
// tenant that passes through an unlimited tier finds in its bucket what it would have found without.
type account struct {
	bucket   bucket.Bucket
	asserted tenant.Assertion
	spent    *usage // nil: nothing yet
}

// assert remembers what a request said of its tenant's tier.
func (a *account) assert(next *tenant.Assertion) {
	if *next == a.asserted {
		return
	}
	merged := a.asserted.Merge(*next)
	if merged.Tier != a.asserted.Tier {
		a.asserted.Tier = strings.Clone(merged.Tier) // the original would keep a whole token in memory
	}
	a.asserted.AsOf = merged.AsOf
}

// settle brings the bucket under the tier's limit, and reports whether it was under another.
func (a *account) settle(now time.Duration, tier *tenant.Tier) bool {
	return tier.Rate != tenant.Unlimited && a.bucket.Settle(now, tier.Rate, float64(tier.Burst))
}

// forgettable returns from when on the account says no more than one that was never made: its bucket is full, no
// window that holds now has usage, and its tenant has taken nothing for a while, lest a busy tenant's latest assertion
// be forgotten whenever its bucket is full. [Never] where that will not be.
func (a *account) forgettable(now time.Duration, c *calendar) time.Duration {
	wait := max(0, sweepEvery-bucket.Sub(now, a.bucket.At), a.bucket.Full(now))
	for w := range Window(Windows) {
		if a.spent.in(w, c) > 0 {
			wait = max(wait, c.left(w, c.now))
		}
	}
	return bucket.Add(now, wait)
}

// clone returns a copy of its own.
func (a account) clone() *account { return &a }

// whole returns the whole units in a number of tokens.
func whole(tokens float64) int { return int(math.Floor(tokens)) }
