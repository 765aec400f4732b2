package quota

import (
	"math"
	"time"

	"github.com/tenantgate/tenantgate/internal/bucket"
	"github.com/tenantgate/tenantgate/tenant"
)

// Never is a [Decision.RetryAfter] or a [Decision.Reset] that does not come: waiting cannot help.
const Never = bucket.Never

// Decision is the limiter's answer to one request. It is a value, but refund the original: see [Limiter.Refund].
type Decision struct {
	Allowed bool
	// Reason is tenant.ReasonNone where Allowed.
	Reason tenant.Reason
	// Tenant, Tier and Operation are what was judged; Tier is the tier that was applied.
	Tenant, Tier, Operation string
	// Policy names the limit that spoke: a tier, "cluster", or a window such as "day". Empty where Allowed.
	Policy string
	// Cost is what the operation costs, in units.
	Cost int
	// Limit is the tier's burst, in units. 0: the tier is unlimited, and Remaining, Reset and Rate mean nothing.
	Limit int
	// Remaining are the whole units left to the tenant after this decision.
	Remaining int
	// Reset is the time until the tenant's bucket is full; [Never] at rate 0.
	Reset time.Duration
	// RetryAfter is the time until every limit lets the cost pass, never rounded down: a caller that waits exactly that
	// long, alone, passes. 0 where Allowed, [Never] where waiting cannot help.
	RetryAfter time.Duration
	// QuotaPolicy names the tightest calendar quota: the one of the tier's with the least left, in proportion. Empty:
	// the tier has none.
	QuotaPolicy                string
	QuotaLimit, QuotaRemaining int64
	// QuotaReset is the time until that quota's window ends.
	QuotaReset time.Duration

	// Rate is how many units the tenant's bucket regains a second.
	Rate float64

	tokens float64  // Remaining, with its fraction
	by     *Limiter // that took charge
	charge Charge
}

// Next returns the time until the tenant's bucket holds one whole unit more than Remaining: 0 where it is full, [Never]
// at rate 0.
func (d *Decision) Next() time.Duration {
	b := d.bucket()
	return b.Wait(0, min(b.Burst, math.Floor(b.Tokens)+1))
}

// bucket returns the tenant's bucket as it was left, with the decision as its epoch.
func (d *Decision) bucket() bucket.Bucket {
	return bucket.Bucket{Rate: d.Rate, Burst: float64(d.Limit), Tokens: d.tokens}
}

// fill fills in what a store answered.
func (d *Decision) fill(r *Result) {
	d.Allowed, d.Reason, d.Policy, d.RetryAfter = r.Allowed, r.Reason, r.Policy, r.RetryAfter
	d.Tier = r.Tier.Name
	d.charge = r.Charge
	if r.Tier.Rate != tenant.Unlimited {
		d.Limit, d.Rate = r.Tier.Burst, r.Tier.Rate
		d.tokens, d.Remaining, d.Reset = r.Tokens, whole(r.Tokens), r.Full
	}
	d.fillQuota(&r.Tier.Quotas, &r.Spent)
}

// fillQuota fills in the tightest quota. Of several as tight as each other it is the one with the fewest units left, and
// of several with as many the longest.
func (d *Decision) fillQuota(q *tenant.Quotas, spent *Spent) {
	if *q == (tenant.Quotas{}) {
		return
	}
	tightest := math.Inf(1)
	for w := range Window(Windows) {
		limit := w.limit(q)
		if limit == 0 {
			continue
		}
		left := max(0, limit-spent.Units[w])
		part := float64(left) / float64(limit)
		if part > tightest || part == tightest && left > d.QuotaRemaining {
			continue
		}
		tightest = part
		_, end := w.Bounds(spent.At)
		d.QuotaPolicy, d.QuotaLimit, d.QuotaRemaining, d.QuotaReset = w.String(), limit, left, end.Sub(spent.At)
	}
}

// regain brings the decision to what it is once a charge of it was given back.
func (d *Decision) regain(c *Charge) {
	if c.Bucket {
		b := d.bucket()
		b.Give(0, float64(c.Units))
		d.tokens, d.Remaining, d.Reset = b.Tokens, whole(b.Tokens), b.Full(0)
	}
	for w := range Window(Windows) {
		if c.Counted.Has(w) && w.String() == d.QuotaPolicy {
			d.QuotaRemaining = min(d.QuotaLimit, d.QuotaRemaining+int64(c.Units))
		}
	}
}
