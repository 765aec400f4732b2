package redisquota

import (
	"context"
	"time"

	"github.com/tenantgate/tenantgate/quota"
)

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
