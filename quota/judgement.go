package quota

import (
	"math"
	"time"

	"github.com/tenantgate/tenantgate/internal/bucket"
	"github.com/tenantgate/tenantgate/tenant"
)

// leaseFor is how long a lease of a [Memory] lasts where no window ends before.
const leaseFor = time.Second

// judgement is one call on its way through the limits of a [Memory], under its shard's lock.
//
// Whether a limit is short is asked as of the shard's time, which never goes back; waits count from the caller's.
type judgement struct {
	rules   *Rules
	quotas  WindowSet // that the tier limits
	counted WindowSet
	call    *Call
	account *account
	shard   *shard
	now     *instant
}

// decide asks every limit, and takes from all of them once none was short. It returns the units taken, a lease included.
func (j *judgement) decide(shared *cluster) int {
	r := &j.call.Result
	if j.call.Cost > 0 {
		j.askPlan()
		j.askTenant()
		j.askWindows()
	}
	take := r.Reason == tenant.ReasonNone && !j.call.Peek
	ahead := 0
	if take && j.call.Ahead > 0 {
		ahead = j.spare()
	}
	// The cluster comes last: asking it and taking from it are one step.
	if j.rules.Cluster.Burst > 0 && r.RetryAfter != Never {
		var wait time.Duration
		wait, ahead = shared.take(j, ahead, take)
		j.short(tenant.ReasonGlobal, clusterPolicy, wait)
	}
	r.Allowed = r.Reason == tenant.ReasonNone
	if !r.Allowed || j.call.Peek {
		return 0
	}
	r.Leased = ahead
	j.debit(j.call.Cost + ahead)
	return j.call.Cost + ahead
}

// short notes that a limit does not hold the cost before wait is over; 0: it does. The first limit to be short gives
// the reason, the slowest the wait.
func (j *judgement) short(reason tenant.Reason, policy string, wait time.Duration) {
	r := &j.call.Result
	if wait > 0 && r.Reason == tenant.ReasonNone {
		r.Reason, r.Policy = reason, policy
	}
	r.RetryAfter = max(r.RetryAfter, wait)
}

func (j *judgement) limited() bool { return j.call.Result.Tier.Rate != tenant.Unlimited }

// askPlan asks whether the tier ever holds the cost.
func (j *judgement) askPlan() {
	tier := &j.call.Result.Tier
	if j.limited() && j.call.Cost > tier.Burst {
		j.short(tenant.ReasonPlan, tier.Name, Never)
	}
	if j.quotas == 0 {
		return
	}
	for w := range Window(Windows) {
		if limit := w.limit(&tier.Quotas); limit > 0 && int64(j.call.Cost) > limit {
			j.short(tenant.ReasonPlan, w.String(), Never)
		}
	}
}

func (j *judgement) askTenant() {
	if j.limited() {
		j.short(tenant.ReasonTenant, j.call.Result.Tier.Name, j.bucketWait(float64(j.call.Cost)))
	}
}

// bucketWait returns how long the caller has to wait for so many tokens.
func (j *judgement) bucketWait(tokens float64) time.Duration {
	return waitFor(&j.account.bucket, tokens, j.shard.mono, j.now.mono)
}

// waitFor returns how long a caller has to wait, from now, for tokens of a bucket that is asked as of mono.
func waitFor(b *bucket.Bucket, tokens float64, mono, now time.Duration) time.Duration {
	if b.Level(mono) >= tokens {
		return 0
	}
	return b.Wait(now, tokens)
}

// quietWait returns how long it is until the tenant's bucket is half full: [Never] where it has none.
func (j *judgement) quietWait() time.Duration {
	if !j.limited() {
		return Never
	}
	return j.bucketWait(j.account.bucket.Burst / 2)
}

// askWindows asks the longest window first: of several that are short it is the one that is worth naming.
func (j *judgement) askWindows() {
	if j.quotas == 0 {
		return
	}
	c, quotas := &j.shard.calendar, &j.call.Result.Tier.Quotas
	for w := Window(Windows) - 1; w >= 0; w-- {
		limit := w.limit(quotas)
		if limit > 0 && int64(j.call.Cost) > limit-j.account.spent.in(w, c) {
			j.short(tenant.ReasonWindow, w.String(), c.left(w, j.now.wall))
		}
	}
}

// spare returns how many of the units asked for ahead the tenant's own limits hold beside the cost.
func (j *judgement) spare() int {
	r, cost := &j.call.Result, j.call.Cost
	ahead := min(j.call.Ahead, math.MaxInt-cost)
	if j.limited() {
		ahead = min(ahead, whole(j.account.bucket.Level(j.shard.mono))-cost)
	}
	for w := range Window(Windows) {
		if limit := w.limit(&r.Tier.Quotas); limit > 0 {
			left := limit - j.account.spent.in(w, &j.shard.calendar) - int64(cost)
			ahead = int(min(int64(ahead), left))
		}
	}
	return max(ahead, 0)
}

// debit takes units from the tenant's bucket and windows, and fills in what was taken.
func (j *judgement) debit(units int) {
	r, a, c := &j.call.Result, j.account, &j.shard.calendar
	r.Charge.Tenant, r.Charge.Units = j.call.Tenant, j.call.Cost
	r.Charge.Bucket, r.Charge.Cluster = j.limited(), j.rules.Cluster.Burst > 0
	r.Charge.Counted = j.counted
	tokens := 0.0
	if j.limited() {
		tokens = float64(units)
	}
	a.bucket.Take(j.shard.mono, tokens) // of an unlimited tier: 0, to note that the tenant is there
	if r.Leased > 0 {
		r.LeaseFor = leaseFor
	}
	if j.counted == 0 || units == 0 {
		return
	}
	if a.spent == nil {
		a.spent = new(usage)
	}
	a.spent.charge(int64(units), j.counted, c)
	for w := range Window(Windows) {
		if !j.counted.Has(w) {
			continue
		}
		r.Charge.Windows[w] = c.start[w]
		if r.Leased > 0 {
			r.LeaseFor = min(r.LeaseFor, c.left(w, c.now))
		}
	}
}

// report fills in how things stand after the decision.
func (j *judgement) report() {
	r := &j.call.Result
	if j.limited() {
		r.Tokens = j.account.bucket.Level(j.shard.mono)
		r.Full = j.bucketWait(j.account.bucket.Burst)
	}
	if j.counted != 0 {
		r.Spent = j.account.spent.spent(&j.shard.calendar)
	}
}
