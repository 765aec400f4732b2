package slots

import (
	"math"

	"github.com/tenantgate/tenantgate/tenant"
)

// Times are nanoseconds on any clock that does not go back.
const (
	second = 1_000_000_000

	// fullCredit is how much service a tenant that was idle may be behind the virtual clock, where the active shares
	// fit the capacity.
	fullCredit = second / 10
	// ahead is how far a tenant's own past may put it ahead of the virtual clock.
	ahead = second
	// ForgetAfter is how long an idle tenant is remembered, and how long it takes to live its past down.
	ForgetAfter = 10 * second
)

// Never is a time that does not come.
const Never = math.MaxInt64

// Config configures a [Core].
type Config struct {
	Rule     Rule
	Capacity int
	Tiers    *tenant.Tiers
	// MaxQueue bounds the waiters of a tenant, MaxWaiting those of all. 0: nobody may wait.
	MaxQueue, MaxWaiting int
	// MaxWait bounds a wait, in nanoseconds. 0: unbounded.
	MaxWait int64
}

// Core decides who holds a slot. It is not safe for concurrent use.
type Core struct {
	rule                 Rule
	tiers                *tenant.Tiers
	maxQueue, maxWaiting int
	maxWait              int64

	now      int64
	capacity int
	closing  bool
	inUse    int // the sum over all lanes, as are queue.len and streams

	streams int

	lanes map[string]*lane
	peak  int             // most lanes since the map was last made anew
	spare []int32         // numbers of lanes that none has, of those below len(lanes) and len(spare) together
	heaps [heaps]laneHeap // the longest queues are kept in order only from when the total is full until it is half full
	full  bool            // they are
	queue list[Request]   // all waiters, oldest first
	idle  list[lane]      // longest idle first

	virtual      float64 // the largest tag that was granted, or later: see creep
	hold         Average // holding times of all tenants, in nanoseconds
	activeShares int     // of the lanes that hold or wait
	grants       uint64
	passes       uint64
	births       uint64

	decided []*Request // granted or refused since the last Decided, but for what the call itself answered
}

// New returns a core without tenants.
func New(cfg Config) *Core {
	return &Core{
		rule: cfg.Rule, tiers: cfg.Tiers, capacity: cfg.Capacity,
		maxQueue: cfg.MaxQueue, maxWaiting: cfg.MaxWaiting,
		maxWait: min(cfg.MaxWait, math.MaxInt64/2), // so that the end of a wait does not overflow
		lanes:   map[string]*lane{},
	}
}

// Enter takes r, of tenant t, in: it is Granted at once, Waiting, Refused, or Unnamed.
func (c *Core) Enter(now int64, r *Request, t tenant.Tenant) { c.enter(now, r, &t) }

func (c *Core) enter(now int64, r *Request, t *tenant.Tenant) {
	l := c.admit(now, r, t)
	if l == nil {
		return
	}
	c.begin(l)
	if c.mayTake(l, r) {
		c.grantTo(l, r)
		return
	}
	if reason := c.makeRoom(l, r); reason != tenant.ReasonNone {
		c.refuse(l, r, reason)
		c.rest(l)
		return
	}
	c.enqueue(l, r)
	c.dispatch(r) // a waiter that was pushed out may have been one for whom slots were kept free
}

// TryEnter is Enter for a request that does not wait: it is Granted, or it was never there and TryEnter returns false.
func (c *Core) TryEnter(now int64, r *Request, t tenant.Tenant) bool {
	l := c.admit(now, r, &t)
	if l == nil {
		r.State = Done
		return false
	}
	c.begin(l)
	if !c.mayTake(l, r) {
		c.rest(l)
		r.State = Done
		return false
	}
	c.grantTo(l, r)
	return true
}

// Stream takes r in as one of its tenant's streams, which take no slot: it is Streaming, Refused, or Unnamed.
func (c *Core) Stream(now int64, r *Request, t tenant.Tenant) {
	l := c.admit(now, r, &t)
	if l == nil {
		return
	}
	if l.streams >= l.allowed {
		reason := tenant.ReasonShare
		if l.allowed == 0 {
			reason = tenant.ReasonPlan
		}
		c.refuse(l, r, reason)
		r.RetryAfter = 0 // there is no telling how long streams last
		return
	}
	c.unpark(l)
	l.streams++
	c.streams++
	r.State, r.lane = Streaming, l
}

// Leave ends r: a waiter leaves the queue, a holder gives its slots back, a stream ends. It does nothing to a request
// that is done.
func (c *Core) Leave(now int64, r *Request) {
	c.advance(now)
	if l := r.lane; l != nil {
		c.end(r)
		c.left(l)
	}
}

// Expire is Leave for a request whose deadline has come: it is Refused, and what it got meanwhile is given back.
func (c *Core) Expire(now int64, r *Request) {
	c.advance(now)
	if l := r.lane; l != nil {
		c.end(r)
		c.refuse(l, r, c.overdue(l, r))
		r.Late = true
		c.left(l)
	}
}

// end takes r, which waits, holds or streams, out of its lane. The lane's left has to follow.
func (c *Core) end(r *Request) {
	l := r.lane
	switch r.State {
	case Waiting:
		c.unqueue(r)
	case Streaming:
		l.streams--
		c.streams--
		c.park(l)
	default:
		c.settle(l, r)
		l.inUse -= r.slots
		c.inUse -= r.slots
	}
	r.State, r.lane = Done, nil
}

// left follows the end of a request of l: whoever may run now is granted a slot.
func (c *Core) left(l *lane) {
	c.update(l)
	c.rest(l)
	c.dispatch(nil)
}

// Refuse is Enter for a request whose deadline had come before it: it is Refused or Unnamed.
func (c *Core) Refuse(now int64, r *Request, t tenant.Tenant) {
	if l := c.admit(now, r, &t); l != nil {
		c.refuse(l, r, c.overdue(l, r))
		r.Late = true
	}
}

// admit returns the lane of t, whose r comes; nil: it has been turned away.
func (c *Core) admit(now int64, r *Request, t *tenant.Tenant) *lane {
	c.advance(now)
	r.Late = false
	if c.closing {
		r.State, r.Reason, r.Tier, r.RetryAfter = Refused, tenant.ReasonClosing, c.TierOf(*t), 0
		return nil
	}
	l := c.laneOf(t)
	if l == nil {
		r.State = Unnamed
	}
	return l
}

// Resize changes the capacity. What is held beyond the new one drains.
func (c *Core) Resize(now int64, capacity int) {
	c.advance(now)
	c.capacity = capacity
	c.rebuild()
	c.dispatch(nil)
}

// Retune gives the tenant called id, or with an empty id all of them, the tier that the catalogue says now.
func (c *Core) Retune(now int64, id string) {
	c.advance(now)
	if id == "" {
		for _, l := range c.lanes {
			c.adopt(l)
		}
		c.rebuild()
	} else if l, ok := c.lanes[id]; ok {
		c.adopt(l)
		c.update(l)
	}
	c.dispatch(nil)
}

// Tick refuses the waiters that waited too long, and forgets the tenants that were idle long enough: so many at a time
// that the caller's lock is free in between.
func (c *Core) Tick(now int64) {
	c.advance(now)
	for r := c.queue.first(); r != nil && c.maxWait > 0 && r.arrived+c.maxWait <= c.now; r = c.queue.first() {
		c.expel(r, c.overdue(r.lane, r))
	}
	c.dispatch(nil)
	c.forget(1024)
}

// Next is when Tick has something to do; [Never] where it never has as things are.
func (c *Core) Next() int64 {
	at := int64(Never)
	if c.queue.head != nil && c.maxWait > 0 {
		at = c.queue.head.elem.arrived + c.maxWait
	}
	if c.idle.head != nil && !c.closing {
		at = min(at, c.idle.head.elem.parked+ForgetAfter)
	}
	return at
}

// Drain refuses every request that enters from now on. Waiters still get their slots.
func (c *Core) Drain() { c.closing = true }

// Close is Drain, and refuses all waiters.
func (c *Core) Close() {
	c.closing = true
	for r := c.queue.first(); r != nil; r = c.queue.first() {
		c.expel(r, tenant.ReasonClosing)
	}
}

// Decided calls f for each request that was granted or refused by another call than its own, and forgets them.
func (c *Core) Decided(f func(*Request)) {
	for i, r := range c.decided {
		c.decided[i] = nil
		f(r)
	}
	c.decided = c.decided[:0]
}
