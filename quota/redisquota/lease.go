package redisquota

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

const (
	leaseShards = 64
	// leaseSweep is how often it is looked for leases that nobody uses or that end soon, and soonOver how soon that is.
	leaseSweep = 250 * time.Millisecond
	soonOver   = leaseSweep + 100*time.Millisecond
	// firstLease is the size of a tenant's first lease, in units. Tenants whose leases could not be that large get none.
	firstLease = 8
)

// leases has what was leased for tenants that ask often, and who they are.
//
// A lease is taken from every limit of its tenant at once, and a decision that it covers asks nobody. While it lasts, it
// takes room of the bucket: what Redis has of it, what is leased and what is refilled never exceed the burst. What is
// unspent goes back before the lease ends.
type leases struct {
	store  *Store
	seed   maphash.Seed
	shards [leaseShards]leaseShard
	live   atomic.Int64 // how many leases there are

	dropped atomic.Int64 // when all were dropped for a call

	mu     sync.Mutex
	timer  *time.Timer // nil: no tenant is known
	closed bool
}

type leaseShard struct {
	mu      sync.Mutex
	tenants map[string]*lessee
	drops   int // how often leases were dropped: one that was asked for before is not to be used
}

// lessee is a tenant that asked a moment ago.
type lessee struct {
	asked, used time.Duration // when a lease was asked for last, and any call came
	spent       int           // units since it was asked for
	size        int           // to ask for next; 0: none yet
	asking      chan struct{} // closed when the call that asks for one is back; nil: none does

	// The lease, in so far as left is not 0.
	hold
	left     int
	until    time.Duration
	rules    quota.Rules
	asserted tenant.Assertion // the latest
	assigned bool             // in Redis: what is asserted does not matter
	granted  quota.Result     // the answer to the call that it was granted with
	at       time.Duration    // when that was
}

func (ls *leases) init(s *Store) {
	ls.store, ls.seed = s, maphash.MakeSeed()
	for i := range ls.shards {
		ls.shards[i].tenants = map[string]*lessee{}
	}
}

func (ls *leases) shard(id string) *leaseShard {
	return &ls.shards[maphash.String(ls.seed, id)%leaseShards]
}

// spend decides a call from its tenant's lease, and reports whether there is one that covers it.
func (ls *leases) spend(rules *quota.Rules, c *quota.Call) bool {
	now := ls.store.elapsed()
	s := ls.shard(c.Tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[c.Tenant]
	if t == nil || c.Peek || t.left < c.Cost || t.left == 0 || now >= t.until || !t.covers(rules, &c.Asserted) {
		return false
	}
	t.left -= c.Cost
	t.spent += c.Cost
	t.used = now
	t.answer(c, now)
	return true
}

// refund puts back into its tenant's lease what was spent of it, and reports whether it did.
func (ls *leases) refund(rules *quota.Rules, c *quota.Charge) bool {
	now := ls.store.elapsed()
	s := ls.shard(c.Tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[c.Tenant]
	if t == nil || c.Units > t.units-t.left || now >= t.until || !sameRules(&t.rules, rules) {
		return false
	}
	same := t.granted.Charge
	same.Units = c.Units
	if *c != same { // it is a part only, or of another window
		return false
	}
	t.left += c.Units
	return true
}

// covers reports whether a call is judged by the limits that the lease was taken from.
func (t *lessee) covers(rules *quota.Rules, said *tenant.Assertion) bool {
	if !sameRules(&t.rules, rules) {
		return false
	}
	if *said == t.asserted {
		return true
	}
	merged := t.asserted.Merge(*said)
	if merged.Tier != t.asserted.Tier && !t.assigned {
		return false
	}
	t.asserted = merged
	return true
}

// answer fills in the result of a call that the lease covers. What is left to the tenant is what Redis had, and has
// regained since, and the lease; what other replicas took since is not known.
func (t *lessee) answer(c *quota.Call, now time.Duration) {
	r := &c.Result
	*r = t.granted
	burst := float64(r.Tier.Burst)
	r.Tokens = min(r.Tokens+r.Tier.Rate*(now-t.at).Seconds(), burst-float64(t.units)) + float64(t.left)
	r.Full = max(0, r.Full-(now-t.at))
	r.Spent.At = r.Spent.At.Add(now - t.at)
	for w := range quota.Window(quota.Windows) {
		if r.Charge.Counted.Has(w) {
			r.Spent.Units[w] -= int64(t.left)
		}
	}
	r.Charge.Units = c.Cost
}

// take asks Redis about a call that the tenant's lease does not cover, and for another lease where the tenant asks often.
// What is left of the lease goes back with it, so that a peek finds all there is.
func (ls *leases) take(ctx context.Context, rules *quota.Rules, c *quota.Call) error {
	s := ls.store
	var old operation
	ask := callOf(c)
	drops, asking := ls.prepare(rules, &ask, &old)

	sent := s.elapsed()
	done, err := ls.ask(ctx, rules, old, ask)
	if asking {
		ls.install(ctx, rules, &done, sent, drops)
	}
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

// end ends a tenant's lease, and returns the operation that tells Redis.
func (ls *leases) end(t *lessee, id string) operation {
	op := releaseOf(id, t.hold, t.left, t.granted.Charge)
	t.hold, t.left = hold{}, 0
	ls.live.Add(-1)
	return op
}

func releaseOf(id string, h hold, unspent int, charge quota.Charge) operation {
	charge.Units = unspent
	return operation{kind: release, tenant: id, lease: h, charge: &charge}
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

// drop ends the leases of tenant id, or with an empty id of every tenant, and tells Redis.
func (ls *leases) drop(ctx context.Context, id string) {
	if id != "" {
		ls.dropShard(ctx, ls.shard(id), id)
		return
	}
	for i := range ls.shards {
		ls.dropShard(ctx, &ls.shards[i], "")
	}
}

func (ls *leases) dropShard(ctx context.Context, s *leaseShard, id string) {
	s.mu.Lock()
	s.drops++
	var ends []ending
	for other, t := range s.tenants {
		if t.units > 0 && (id == "" || other == id) {
			ends = append(ends, ending{t.rules, ls.end(t, other)})
		}
	}
	s.mu.Unlock()
	ls.store.giveBackAll(ctx, ends)
}

// sweep gives back the leases that nobody uses and those that end soon, and forgets tenants that do not ask any more.
func (ls *leases) sweep() {
	ls.mu.Lock()
	ls.timer = nil // a tenant that comes from here on may come to a shard that was looked through: it arms the next
	ls.mu.Unlock()
	now, known := ls.store.elapsed(), 0
	for i := range ls.shards {
		s := &ls.shards[i]
		var ends []ending
		s.mu.Lock()
		for id, t := range s.tenants {
			unused := now-t.used > leaseSweep
			if t.units > 0 && (unused || t.until-now < soonOver) {
				ends = append(ends, ending{t.rules, ls.end(t, id)})
			}
			if now-t.used > 4*leaseSweep && t.asking == nil {
				delete(s.tenants, id)
			}
		}
		known += len(s.tenants)
		s.mu.Unlock()
		ls.store.giveBackAll(context.Background(), ends)
	}
	if known > 0 {
		ls.arm()
	}
}

// arm has the leases swept soon.
func (ls *leases) arm() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.timer == nil && !ls.closed {
		ls.timer = time.AfterFunc(leaseSweep, ls.sweep)
	}
}

func (ls *leases) close(ctx context.Context) {
	ls.mu.Lock()
	ls.closed = true
	if ls.timer != nil {
		ls.timer.Stop()
	}
	ls.mu.Unlock()
	ls.drop(ctx, "")
}

// ending is the end of a lease, and the rules of the limiter that it was taken for.
type ending struct {
	rules quota.Rules
	op    operation
}

// giveBackAll tells Redis of the ends of leases. What it cannot be told comes back to the bucket when the lease is over,
// and stays counted in the windows.
func (s *Store) giveBackAll(ctx context.Context, ends []ending) {
	for len(ends) > 0 {
		n := 1
		for s.cluster == nil && n < min(len(ends), full) && sameRules(&ends[n].rules, &ends[0].rules) {
			n++
		}
		e := newEntry(&ends[0].rules, n)
		for i := range n {
			e.ops[i] = ends[i].op
			ends[i].op.lease.from.back(ends[i].op.charge.Units)
		}
		s.do(ctx, e)
		e.free()
		ends = ends[n:]
	}
}
