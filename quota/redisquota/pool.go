package redisquota

import (
	"context"
	"sync"
	"time"

	"github.com/tenantgate/tenantgate/quota"
)

// idle is how long a part of the bucket that all tenants share is kept while nobody borrows from it.
const idle = 500 * time.Millisecond

// margin is how long before its end nothing is lent of a part any more; the script makes sure.
const margin = 200 * time.Millisecond

// pool has this process's parts of the bucket that all tenants share, where that lives apart from the tenants' accounts.
// They are leased: taken out of the bucket ahead, and counted against its burst until they are spent or given back, or
// the lease is over. A request borrows what it may need, and brings back what it did not spend.
type pool struct {
	store *Store
	rules quota.Rules   // for its requests
	turn  chan struct{} // held by the one who draws from the bucket

	mu      sync.Mutex
	parts   []*part
	lent    int           // loans that are out
	settled chan struct{} // closed when something comes back; nil: nobody waits
	news    bool          // something came back since the bucket was drawn from
	level   level         // of the bucket when it was drawn from last, without the parts
	drawn   time.Duration // when it was drawn from last
	used    time.Duration // when something was borrowed last
	ahead   int           // what to draw beyond the need, for the next requests
	timer   *time.Timer   // nil: there are no parts
	closed  bool
}

// part is one lease of the bucket. units are what it holds there: what is here, what is lent, what was spent since the
// bucket was last told.
type part struct {
	portion     // here
	units, lent int
	until       time.Duration // by this process's clock
}

// loan is what a request borrowed. The zero loan is nothing.
type loan struct {
	portion
	pool *pool
	part *part
}

// pools are the pools of a store, by the bucket's limit and what of it is reserved.
type pools struct {
	mu sync.Mutex
	m  map[poolKey]*pool
}

type poolKey struct {
	quota.Rate
	reserve float64
}

func (ps *pools) of(s *Store, rules *quota.Rules) *pool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	key := poolKey{rules.Cluster, rules.Reserve}
	p := ps.m[key]
	if p == nil {
		if ps.m == nil {
			ps.m = map[poolKey]*pool{}
		}
		p = &pool{store: s, rules: *rules, turn: make(chan struct{}, 1)}
		ps.m[key] = p
	}
	return p
}

func (ps *pools) close() error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var first error
	for _, p := range ps.m {
		if err := p.close(); first == nil {
			first = err
		}
	}
	return first
}

// fill sees to it that one part has so many units, if the bucket has, and reports whether it drew from the bucket. Who
// calls it has no loan: the one whose turn it is may be waiting for all to come back.
func (p *pool) fill(ctx context.Context, units int) (drew bool, err error) {
	if p.has(units) {
		return false, nil
	}
	if err := p.takeTurn(ctx); err != nil {
		return false, err
	}
	defer p.passTurn()
	if p.has(units) {
		return false, nil
	}
	return true, p.draw(ctx, units)
}

func (p *pool) has(units int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.partWith(units, false) != nil
}

// borrowLast returns what a request needs, or what there is once no other loan is out, which might come back unspent:
// nobody is refused for the sake of a request that is refused. drew says that the bucket was drawn from just now.
func (p *pool) borrowLast(ctx context.Context, need int, drew bool) (loan, error) {
	if l, ok := p.borrow(need, drew); ok {
		return l, nil
	}
	if err := p.takeTurn(ctx); err != nil {
		return loan{}, err
	}
	defer p.passTurn()
	for ; ; drew = false {
		if l, ok := p.borrow(need, drew); ok {
			return l, nil
		}
		if !drew {
			if err := p.draw(ctx, need); err != nil {
				return loan{}, err
			}
			if l, ok := p.borrow(need, true); ok {
				return l, nil
			}
		}
		l, back := p.rest()
		if back == nil {
			return l, nil
		}
		select {
		case <-back:
		case <-ctx.Done():
			return loan{}, ctx.Err()
		}
	}
}

// borrow borrows from one part. Of the reserve it does so only where that was just drawn, because then there was nothing
// else.
func (p *pool) borrow(need int, drew bool) (loan, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = p.store.elapsed()
	from := p.partWith(need, drew)
	if from == nil {
		return loan{}, false
	}
	open := min(from.open, float64(need))
	return p.lend(from, portion{open: open, reserve: float64(need) - open}), true
}

// partWith returns a part that has so many units. nil: none has. p is locked.
func (p *pool) partWith(units int, reserve bool) *part {
	now := p.store.elapsed()
	for _, from := range p.parts {
		there := from.open
		if reserve {
			there += from.reserve
		}
		if there >= float64(units) && now+margin < from.until {
			return from
		}
	}
	return nil
}

// rest borrows what there is, or returns a channel that is closed once more may be there.
func (p *pool) rest() (loan, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled == nil {
		p.settled = make(chan struct{})
	}
	back := p.settled
	if p.lent == 0 && p.news { // the next draw makes one part of all
		p.tell()
	} else if p.lent == 0 {
		if len(p.parts) == 0 {
			return loan{pool: p}, nil
		}
		return p.lend(p.parts[0], p.parts[0].portion), nil
	}
	return loan{}, back
}

// tell says that something came back. p is locked.
func (p *pool) tell() {
	p.news = true
	if p.settled != nil {
		close(p.settled)
		p.settled = nil
	}
}

// lend lends a portion of a part. p is locked.
func (p *pool) lend(from *part, what portion) loan {
	from.open -= what.open
	from.reserve -= what.reserve
	from.lent += int(what.open + what.reserve)
	p.lent++
	what.ends = from.ends
	return loan{portion: what, pool: p, part: from}
}

// repay brings back what is left of a loan, but for so many units that went into a lease: that is still out.
func (l *loan) repay(left portion, leased int) {
	if l.part == nil {
		return
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.part.lent -= int(l.open+l.reserve) - leased
	l.part.open += left.open
	l.part.reserve += left.reserve
	l.pool.lent--
	l.pool.tell()
	l.portion = portion{open: float64(leased)}
}

// back brings back what is left of a lease that came out of a loan.
func (l *loan) back(unspent int) {
	if l.part == nil {
		return
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.part.lent -= int(l.open)
	l.part.open += float64(unspent)
	l.pool.tell()
	l.part = nil
}

// seen returns the bucket as one finds it, later, who has so many units of it at hand. It is as old as the last draw,
// which a request that is short has just made.
func (p *pool) seen(have float64) level {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.level
	l.Tokens += have
	l.held = max(l.held-have, 0)
	return l
}
