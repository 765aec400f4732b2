package quota

import (
	"context"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Usage is what a tenant has used of one calendar quota of its tier.
type Usage struct {
	// Policy is the window's name, such as "day".
	Policy string
	// Used is the sum of what was admitted in the window, less what was refunded. It exceeds Limit where the tenant came
	// from a tier that has more.
	Used, Limit int64
	// Start and End bound the window, in UTC: from Start up to, but not at, End.
	Start, End time.Time
}

// Usage returns what tenant t has used of each calendar quota of the tier that applies to it, shortest window first.
// Empty: the tier has no calendar quota.
func (l *Limiter) Usage(ctx context.Context, t tenant.Tenant) ([]Usage, error) {
	if err := check(ctx, t.ID); err != nil {
		return nil, err
	}
	call := Call{Tenant: t.ID, Asserted: t.Assertion(), Peek: true}
	if err := l.store.Usage(ctx, l.rules(), &call); err != nil {
		return nil, err
	}
	var all []Usage
	for w := range Window(Windows) {
		if limit := w.limit(&call.Result.Tier.Quotas); limit > 0 {
			start, end := w.Bounds(call.Result.Spent.At)
			all = append(all, Usage{
				Policy: w.String(), Used: call.Result.Spent.Units[w], Limit: limit, Start: start, End: end,
			})
		}
	}
	return all, nil
}
