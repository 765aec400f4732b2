package redisquota

import (
	"time"

	"github.com/tenantgate/tenantgate/internal/bucket"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Which limits were short: bit w+1 is window w's. The numbers are the script's.
const (
	shortTenant = 1
	shortGlobal = 64
	shortPlan   = 128
)

// clusterPolicy is the policy of the bucket that all tenants share.
const clusterPolicy = "cluster"

// leaseMost is longer than any lease lasts.
const leaseMost = 2 * time.Second

// level is a bucket as the script found it: what it held when it last changed, and how long ago that is.
type level struct {
	bucket.Bucket // At is 0
	elapsed       time.Duration
	held          float64 // leased: no room to refill
}

func (l *level) tokens() float64 {
	b := l.Bucket
	b.Burst = max(b.Burst-l.held, 0)
	return b.Level(l.elapsed)
}

// wait returns the time until the bucket holds so many units, in whole microseconds as the server counts, rounded up.
// Where that needs room that is leased, it is the time until that is back in any case.
func (l *level) wait(units float64) time.Duration {
	b := l.Bucket
	wait := time.Duration(0)
	if units > b.Burst-l.held {
		wait = leaseMost
	} else {
		b.Burst -= l.held
	}
	w := b.Wait(l.elapsed, units)
	if w >= bucket.Never-wait-time.Microsecond {
		return bucket.Never
	}
	return wait + (w + time.Microsecond - 1).Truncate(time.Microsecond)
}

// judgement turns what the script found for a call into the answer.
type judgement struct {
	call    *quota.Call
	tier    *requestTier
	rules   *quota.Rules
	own     level
	shared  *level
	spent   [quota.Windows]int64
	now, at time.Time // of the server's clock; at is ahead of it where that stepped back
}

func (j *judgement) limited() bool { return j.tier.Rate != tenant.Unlimited }

// answer fills in the call's result.
func (j *judgement) answer(short byte) {
	r := &j.call.Result
	*r = quota.Result{Allowed: short == 0, Tier: j.tier.Tier}
	if j.limited() {
		r.Tokens, r.Full = j.own.tokens(), j.own.wait(j.own.Burst)
	}
	if j.tier.windows != 0 {
		r.Spent = quota.Spent{At: j.at, Units: j.spent}
	}
	switch {
	case short == shortPlan:
		j.plan()
	case short != 0:
		j.waits(short)
	case !j.call.Peek:
		j.charge()
	}
}

// plan says which limit of the tier never holds the cost.
func (j *judgement) plan() {
	r := &j.call.Result
	r.Reason, r.RetryAfter = tenant.ReasonPlan, quota.Never
	if j.limited() && j.call.Cost > j.tier.Burst {
		r.Policy = j.tier.Name
		return
	}
	for w := range quota.Window(quota.Windows) {
		if limit := w.Limit(j.tier.Quotas); limit > 0 && int64(j.call.Cost) > limit {
			r.Policy = w.String()
			return
		}
	}
}

// waits says which limits are short, and until when the last of them is: the first gives the reason.
func (j *judgement) waits(short byte) {
	if short&shortTenant != 0 {
		j.short(tenant.ReasonTenant, j.tier.Name, j.own.wait(float64(j.call.Cost)))
	}
	for w := quota.Window(quota.Windows) - 1; w >= 0; w-- { // the longest is the one that is worth naming
		if short&(2<<w) != 0 {
			_, end := w.Bounds(j.at)
			j.short(tenant.ReasonWindow, w.String(), end.Sub(j.now))
		}
	}
	if short&shortGlobal != 0 {
		j.short(tenant.ReasonGlobal, clusterPolicy, j.sharedWait())
	}
}

func (j *judgement) short(reason tenant.Reason, policy string, wait time.Duration) {
	r := &j.call.Result
	if r.Reason == tenant.ReasonNone {
		r.Reason, r.Policy = reason, policy
	}
	r.RetryAfter = max(r.RetryAfter, wait, time.Microsecond) // it is short, however the rounding went
}

// sharedWait returns the time until the bucket that all tenants share serves the call: from what it keeps for nobody,
// or from its reserve once the tenant's own bucket is half full, whichever comes first.
func (j *judgement) sharedWait() time.Duration {
	cost := float64(j.call.Cost)
	wait := j.shared.wait(cost + j.rules.Reserve*j.shared.Burst)
	if j.rules.Reserve > 0 && j.limited() {
		wait = min(wait, max(j.shared.wait(cost), j.own.wait(j.own.Burst/2)))
	}
	return wait
}

// charge says what was taken.
func (j *judgement) charge() {
	c := &j.call.Result.Charge
	c.Tenant, c.Units = j.call.Tenant, j.call.Cost
	c.Bucket, c.Cluster, c.Counted = j.limited(), j.rules.Cluster.Burst > 0, j.tier.windows
	for w := range quota.Window(quota.Windows) {
		if c.Units > 0 && c.Counted.Has(w) {
			start, _ := w.Bounds(j.at)
			c.Windows[w] = start.Unix()
		}
	}
}
