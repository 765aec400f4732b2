package redisquota

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
)

// rounds is how often the script is called for one operation at most: again where the request had not described the tier
// that applies, which then does, as each request does from then on. So that happens once to a tier that is only ever
// assigned in Redis.
const rounds = 8

var requests = sync.Pool{New: func() any { return new(request) }}

// call carries out the operations of a batch. The error says that the server failed.
func (l *lane) call(ctx context.Context, batch []*entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.store.cfg.Timeout) // others wait for it too
	defer cancel()
	ops := make([]*operation, 0, full)
	for _, e := range batch {
		for i := range e.ops {
			ops = append(ops, &e.ops[i])
		}
	}
	rules := &batch[0].rules
	for i := range rounds {
		if err := l.round(ctx, rules, ops, i > 0); err != nil {
			l.note(err)
			return err
		}
		missing := ops[:0]
		for _, op := range ops {
			if op.missing != "" {
				missing = append(missing, op)
			}
		}
		if ops = missing; len(ops) == 0 {
			break
		}
		l.store.want(ops[0].missing)
	}
	for _, op := range ops {
		op.fail(fmt.Errorf("redisquota: tier of %s changes faster than it can be told", op.tenant), false)
	}
	l.note(nil)
	return nil
}

// round has the script called for all operations at once.
func (l *lane) round(ctx context.Context, rules *quota.Rules, ops []*operation, all bool) error {
	if l.store.cluster != nil {
		return l.clusterRound(ctx, rules, ops, all)
	}
	r := requests.Get().(*request)
	defer requests.Put(r)
	r.init(l.store, rules)
	if rules.Cluster.Burst > 0 {
		r.mode = clusterHere
	}
	if all {
		r.describeAll()
	}
	for _, op := range ops {
		r.add(op)
	}
	return l.sendAll(ctx, []*request{r})
}

// sendAll calls the script for each request, all in one trip, and says of the operations of those that failed why. The
// error says that the server failed: no request succeeded.
func (l *lane) sendAll(ctx context.Context, all []*request) error {
	if len(all) == 0 {
		return nil
	}
	cmds := make([]command, len(all))
	for i, r := range all {
		cmds[i] = newCommand(ctx, r)
	}
	l.process(ctx, cmds)
	done := 0
	var failed error
	for i, r := range all {
		if err := l.finish(ctx, r, cmds[i]); err != nil {
			failed = err
		} else {
			done++
		}
	}
	if done > 0 {
		return nil
	}
	return failed
}

// process sends the commands; each has its own error then. Those that the server refused because it does not have the
// script are sent again with it.
func (l *lane) process(ctx context.Context, cmds []command) {
	l.send(ctx, cmds)
	var again []command
	for i := range cmds {
		if redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") {
			cmds[i] = cmds[i].whole(ctx)
			again = append(again, cmds[i])
		}
	}
	if len(again) > 0 {
		l.send(ctx, again)
	}
}

// send sends the commands, in one trip.
func (l *lane) send(ctx context.Context, cmds []command) {
	l.store.counts.scripts.Add(uint64(len(cmds)))
	if len(cmds) == 1 {
		_ = l.node.Process(ctx, cmds[0]) // it has its error
		return
	}
	pipe := l.node.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // only queues it
	}
	_, _ = pipe.Exec(ctx)
}

// finish reads the reply of a command.
func (l *lane) finish(ctx context.Context, r *request, cmd command) error {
	err := cmd.Err()
	switch {
	case l.store.cluster != nil && moved(err):
		err = l.redirect(ctx, r)
	case err == nil:
		err = r.read(cmd.Val())
	}
	if err == nil {
		r.settleLoan()
		return nil
	}
	if redis.HasErrorPrefix(err, "BROKEN") { // of the bucket that all tenants share: the server is well
		r.fail(fmt.Errorf("%w: %w", errBroken, err), false)
		return nil
	}
	inDoubt, left := !notDone(err), portion{}
	if !inDoubt {
		left = r.loan.portion // else it may be spent
	}
	r.loan.repay(left, 0)
	r.fail(err, inDoubt)
	return err
}

// settleLoan brings back what the request borrowed and did not spend. What was leased stays out, with the lease; the
// operations of a request are one tenant's where there is a loan, and one at most asks for a lease.
func (r *request) settleLoan() {
	var leased *hold
	for _, op := range r.ops {
		if op.kind == take && op.lease.units > 0 {
			leased = &op.lease
		}
	}
	if leased == nil {
		r.loan.repay(r.left, 0)
		return
	}
	r.loan.repay(r.left, leased.units)
	leased.from = r.loan
}

func (r *request) fail(err error, inDoubt bool) {
	for _, op := range r.ops {
		op.fail(fmt.Errorf("redisquota: %w", err), inDoubt)
	}
}

// errPanicked is why a call has no answer that panicked; the caller that made it for others has the panic.
var errPanicked = errors.New("redisquota: the call of the server panicked")
