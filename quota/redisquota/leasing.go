package redisquota

import (
	"context"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// take asks Redis about a call that the tenant's lease does not cover, and for another lease where the tenant asks often.
// What is left of the lease goes back with it, so that a peek finds all there is.
func (ls *leases) take(ctx context.Context, rules *quota.Rules, c *quota.Call) error {
	s := ls.store
	var old operation
	ask := callOf(c)
	drops, asking := ls.prepare(rules, &ask, &old)

	done, err := ask, error(nil)
	done.err = errPanicked // unless it comes back
	func() {
		sent := s.elapsed()
		if asking {
			defer func() { ls.install(ctx, rules, &done, sent, drops) }()
		}
		done, err = ls.ask(ctx, rules, old, ask)
	}()
	switch {
	case done.err != nil:
		return err
	case c.Result.Allowed, c.Peek:
		s.counts.shared.Add(1)
		return nil
	default:
		return ls.askAgain(ctx, rules, c)
	}
}

// ask has Redis decide a call, after the end of a lease if there is one.
func (ls *leases) ask(ctx context.Context, rules *quota.Rules, old, ask operation) (done operation, err error) {
	e := newEntry(rules, 1)
	defer e.free()
	if old.kind == release {
		old.lease.from.back(old.charge.Units)
		e.ops = append(e.ops[:0], old, ask)
	} else {
		e.ops[0] = ask
	}
	ls.store.do(ctx, e)
	done = e.ops[len(e.ops)-1]
	return done, ls.store.conclude(rules, &done)
}

// askAgain sees to it that a call is not refused for the sake of what is leased here: to another call of its tenant that
// is under way, or, of the bucket that all tenants share, to other tenants.
func (ls *leases) askAgain(ctx context.Context, rules *quota.Rules, c *quota.Call) error {
	counts := &ls.store.counts
	if asking := ls.asking(c.Tenant); asking != nil {
		<-asking
	}
	if global := c.Result.Reason == tenant.ReasonGlobal; ls.spend(rules, c) {
		counts.leased.Add(1)
		return nil
	} else if global && ls.live.Load() > 0 && ls.mayDropAll() {
		ls.drop(ctx, "")
		done, err := ls.ask(ctx, rules, operation{}, callOf(c))
		if done.err != nil {
			return err
		}
	}
	counts.shared.Add(1)
	return nil
}

// mayDropAll reports whether all leases may be dropped once more for the sake of a call: not too often, for that asks of
// Redis what the leases were to save.
func (ls *leases) mayDropAll() bool {
	const every = 100 * time.Millisecond
	last, now := ls.dropped.Load(), int64(ls.store.elapsed()+every)
	return now-last >= int64(every) && ls.dropped.CompareAndSwap(last, now)
}

// asking returns a channel that is closed when the call is back that asks for a lease of tenant id. nil: none does.
func (ls *leases) asking(id string) <-chan struct{} {
	s := ls.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tenants[id]; t != nil {
		return t.asking
	}
	return nil
}

// prepare says how much to lease with a call, and what is left of the lease before, which ends. One call asks at a time;
// drops is for install.
func (ls *leases) prepare(rules *quota.Rules, ask, old *operation) (drops int, asking bool) {
	now := ls.store.elapsed()
	s := ls.shard(ask.tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[ask.tenant]
	if t == nil {
		t = &lessee{asked: now - time.Second}
		s.tenants[strings.Clone(ask.tenant)] = t
		ls.arm()
	}
	t.used = now
	t.spent += ask.call.Cost
	if t.asking != nil {
		return 0, false
	}
	asking = ask.kind == take && ask.call.Cost > 0 // a lease goes back as the charge that it was granted with
	if asking {
		t.resize(now, ls.store.cfg.Replicas)
		t.asked, t.spent, t.asking, ask.ahead = now, 0, make(chan struct{}), t.size
	}
	if t.units > 0 {
		if t.rules.Tiers == rules.Tiers {
			ask.said = t.asserted.Merge(ask.said) // what calls said that Redis has not heard of
		}
		*old = ls.end(t, ask.tenant)
	}
	return s.drops, asking
}

// resize decides how much to lease next: what the tenant will ask for in the next second, if it goes on as since it was
// last asked for it; but at most so many times as much as before.
func (t *lessee) resize(now time.Duration, replicas int) {
	const growth = 8
	most := t.granted.Tier.Burst / (2 * replicas)
	if t.granted.Tier.Rate == tenant.Unlimited || most < firstLease {
		most = 0
	}
	since := max(now-t.asked, time.Millisecond).Seconds()
	wanted := int(min(float64(t.spent)/since, float64(most)))
	if wanted < firstLease {
		wanted = 0
	}
	t.size = min(wanted, growth*max(t.size, firstLease), most)
}

// install makes the lease that a call was granted, if it was, the tenant's. It goes back where leases were dropped since
// it was asked for.
func (ls *leases) install(ctx context.Context, rules *quota.Rules, done *operation, sent time.Duration, drops int) {
	s := ls.shard(done.tenant)
	s.mu.Lock()
	t := s.tenants[done.tenant] // it is not forgotten while it asks
	close(t.asking)
	t.asking = nil
	usable := s.drops == drops && done.err == nil
	if usable {
		t.granted, t.at = done.call.Result, sent
	}
	if usable && done.lease.units > 0 {
		t.hold, t.left, t.rules = done.lease, done.lease.units, *rules
		t.until = sent + done.leaseFor
		if part := done.lease.from.part; part != nil { // whose end another server said, by a clock of its own
			t.until = min(t.until, part.until)
		}
		t.asserted, t.assigned = done.said, done.assignedInStore
		t.answer(done.call, sent)
		ls.live.Add(1)
	}
	s.mu.Unlock()
	if !usable && done.lease.units > 0 {
		op := releaseOf(done.tenant, done.lease, done.lease.units, done.call.Result.Charge)
		ls.store.giveBackAll(ctx, []ending{{*rules, op}})
	}
}
