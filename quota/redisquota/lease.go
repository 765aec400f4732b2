package redisquota

import (
	"hash/maphash"
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
