package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// doomed is the replica that is killed.
const doomed = 1

// phase is one run of the workload against a fleet of its own.
type phase struct {
	*fleet
	*load
	name   string
	outage span         // of Redis, from before it was killed until every replica asked it again; zero: there was none
	then   replicaStats // what the replicas said at its end, together
}

// runPhase runs the workload, with faults on the way or without, and says what came of it.
func runPhase(ctx context.Context, dir, name string, w workload, faults bool) (*result, error) {
	const most = time.Minute // it takes some ten seconds
	if err := awaitDay(ctx, most); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	p := &phase{name: name}
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if p.fleet, err = startFleet(ctx, dir); err != nil {
		return nil, err
	}
	defer p.close()
	if p.load, err = newLoad(w, p.secret); err != nil {
		return nil, err
	}
	for i := range replicas {
		p.targets[i].Store(&p.replicas[i].Tenants)
	}
	requests := w.draw()
	if faults {
		err = p.runThroughFaults(ctx, requests)
	} else {
		p.run(ctx, requests)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return p.judge(ctx)
}

// runThroughFaults kills a replica in the first third of the requests, and Redis in the second. The third is sent when
// all is well again. The replica dies while Redis is there, so that it has nothing that it would still have to count
// there; Redis while all replicas are.
func (p *phase) runThroughFaults(ctx context.Context, requests []request) error {
	third := len(requests) / 3
	if err := p.during(ctx, requests[:third], p.loseReplica); err != nil {
		return err
	}
	if err := p.during(ctx, requests[third:2*third], p.loseRedis); err != nil {
		return err
	}
	err := await(ctx, "all replicas to ask Redis again", p.all(ctx, func(s replicaStats) bool { return s.Shared }))
	if err != nil {
		return err
	}
	p.outage.to = time.Now().UnixMicro() // nothing is under way that was judged before
	if p.then, err = p.total(ctx); err != nil {
		return err
	}
	p.run(ctx, requests[2*third:])
	return nil
}

// during runs the requests while a fault is made.
func (p *phase) during(ctx context.Context, requests []request, fault func(context.Context, *stage) error) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &stage{phase: p, from: p.sent.Load(), requests: int64(len(requests))}
	var wg sync.WaitGroup
	wg.Go(func() { p.run(running, requests) })
	err := fault(ctx, s)
	if err != nil {
		cancel()
	}
	wg.Wait()
	return err
}

// stage is a part of a phase: the requests after the first from.
type stage struct {
	*phase
	from, requests int64
	well           int64 // when it was last known that Redis had decided everything, in Unix microseconds
}

// await waits until this part of the stage's requests is sent.
func (s *stage) await(ctx context.Context, part float64) error {
	n := s.from + int64(part*float64(s.requests))
	return await(ctx, fmt.Sprintf("%d requests to be sent", n), func() (bool, error) { return s.sent.Load() >= n, nil })
}

// loseReplica kills a replica while it serves, and later starts it again. What it had to say is lost with it: it must
// not have decided anything alone.
func (p *phase) loseReplica(ctx context.Context, s *stage) error {
	if err := p.awaitTrouble(ctx, s); err != nil {
		return err
	}
	err := await(ctx, "the replica to be at work", func() (bool, error) {
		s, err := p.replicas[doomed].stats(ctx)
		return s.Running > 0, err
	})
	if err != nil {
		return err
	}
	p.kill(doomed)
	if err := s.await(ctx, 0.6); err != nil {
		return err
	}
	if err := p.start(ctx, doomed); err != nil {
		return err
	}
	p.targets[doomed].Store(&p.replicas[doomed].Tenants)
	return nil
}

// loseRedis kills Redis, and restarts it when every replica has noticed.
func (p *phase) loseRedis(ctx context.Context, s *stage) error {
	if err := p.awaitTrouble(ctx, s); err != nil {
		return err
	}
	p.outage.from = s.well
	p.redis.Kill()
	err := await(ctx, "all replicas to notice", p.all(ctx, func(s replicaStats) bool { return !s.Shared }))
	if err != nil {
		return err
	}
	if err := s.await(ctx, 0.6); err != nil {
		return err
	}
	return p.redis.Restart()
}

// awaitTrouble waits until it is time for a fault, which is when a volley is just sent. Until shortly before, Redis has
// decided everything. From then on it may not have.
func (p *phase) awaitTrouble(ctx context.Context, s *stage) error {
	if err := s.await(ctx, 0.29); err != nil {
		return err
	}
	total, err := p.total(ctx)
	if err != nil {
		return err
	}
	if total.Alone+total.InDoubt > 0 {
		return fmt.Errorf("%d calls of Redis failed before it was killed: %d decisions in doubt, %d alone",
			total.Failures, total.InDoubt, total.Alone)
	}
	s.well = time.Now().UnixMicro()
	return s.await(ctx, 0.3)
}

// all returns a condition for await: that it is true of every replica.
func (p *phase) all(ctx context.Context, is func(replicaStats) bool) func() (bool, error) {
	return func() (bool, error) {
		all, err := p.stats(ctx)
		return err == nil && !slices.ContainsFunc(all, func(s replicaStats) bool { return !is(s) }), err
	}
}
