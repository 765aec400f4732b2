package redisquota

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
)

// In a Redis Cluster the accounts of different tenants live apart, and apart from the bucket that all tenants share. So
// there is a request for each tenant, all of one server in one trip, and each is given a portion of that bucket, which
// was leased before: see pool.

// clusterRound is round in a Redis Cluster.
func (l *lane) clusterRound(ctx context.Context, rules *quota.Rules, ops []*operation, describe bool) error {
	all := l.perTenant(rules, ops, describe)
	defer func() {
		for _, r := range all {
			requests.Put(r)
		}
	}()
	if rules.Cluster.Burst == 0 {
		return l.sendAll(ctx, all)
	}
	p, need := l.store.pools.of(l.store, rules), 0
	for _, r := range all {
		need += r.need()
	}
	drew, err := false, error(nil)
	if need > 0 {
		drew, err = p.fill(ctx, need)
	}
	if err != nil {
		for _, r := range all {
			r.fail(fmt.Errorf("the bucket that all tenants share: %w", err), false)
		}
		return nil // this server is well
	}
	ready, late := make([]*request, 0, len(all)), []*request(nil)
	for _, r := range all {
		if need := r.need(); need == 0 {
			ready = append(ready, r)
		} else if borrowed, ok := p.borrow(need, drew); ok {
			r.take(borrowed)
			ready = append(ready, r)
		} else {
			late = append(late, r)
		}
	}
	err = l.sendAll(ctx, ready)
	for _, r := range late { // now that the others have brought back what they did not spend
		if e := l.sendLate(ctx, p, r, drew); err == nil {
			err = e
		}
		drew = false
	}
	return err
}

// sendLate sends a request with what there is of the bucket that all tenants share.
func (l *lane) sendLate(ctx context.Context, p *pool, r *request, drew bool) error {
	borrowed, err := p.borrowLast(ctx, r.need(), drew)
	if err != nil {
		r.fail(fmt.Errorf("the bucket that all tenants share: %w", err), false)
		return nil
	}
	r.take(borrowed)
	return l.sendAll(ctx, []*request{r})
}

// take gives the request its portion of the bucket that all tenants share.
func (r *request) take(l loan) {
	r.mode, r.loan, r.portion = clusterPart, l, l.portion
	r.shared = l.pool.seen(l.open + l.reserve)
}

// need returns the most that a request can spend of the bucket that all tenants share.
func (r *request) need() int {
	need := 0
	for _, op := range r.ops {
		if op.kind == take || op.kind == look {
			need += op.call.Cost + op.ahead
		}
	}
	return need
}

// perTenant returns a request for each tenant.
func (l *lane) perTenant(rules *quota.Rules, ops []*operation, describe bool) []*request {
	var all []*request
	byTenant := map[string]*request{}
	for _, op := range ops {
		r := byTenant[op.tenant]
		if r == nil {
			r = requests.Get().(*request)
			r.init(l.store, rules)
			if describe {
				r.describeAll()
			}
			byTenant[op.tenant] = r
			all = append(all, r)
		}
		r.add(op)
	}
	return all
}

// redirect has a request done by whoever has the account now: the client finds out who that is.
func (l *lane) redirect(ctx context.Context, r *request) error {
	l.store.counts.scripts.Add(1)
	cmd := newCommand(ctx, r).whole(ctx) // the script need not be there yet
	done := make(chan error, 1)          // the client does not know of our timeout
	go func() { done <- l.store.cluster.Process(ctx, cmd) }()
	select {
	case err := <-done:
		if err != nil {
			return err
		}
		return r.read(cmd.Val())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// moved reports whether an account lives elsewhere now.
func moved(err error) bool {
	return redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK")
}

// drawing asks for a part of the bucket that all tenants share.
type drawing struct {
	want, got portion
	level     level // of the bucket, after that
}
