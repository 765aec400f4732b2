package redisquota

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// ErrClosed is returned by a store that was closed.
var ErrClosed = errors.New("redisquota: store closed")

// sharedID stands for a tenant's where the bucket that all tenants share is meant; no tenant can have it.
const sharedID = "_cluster"

// Store is a [quota.Store] in Redis. See the package comment for what it guarantees. All methods may be called
// concurrently. [New] makes one; the zero Store is not usable.
type Store struct {
	cfg      Config
	cluster  *redis.ClusterClient // nil: there is one server
	elapsed  func() time.Duration // since the store was made
	clock    func() float64       // in microseconds since the Unix epoch; 0: the server's own
	notPlain bool                 // has the script decide in its general way only

	lanes      lanes
	whole      whole // of cluster
	pools      pools
	catalogues catalogues
	tiers      atomic.Pointer[[]string] // see want
	local      local
	leases     leases
	counts     counts

	broken   atomic.Int64 // when that was last logged
	closed   atomic.Bool
	underWay sync.RWMutex // held for reading by what asks Redis, so that Close can wait for it
}

// New returns a store. client is a *redis.Client (of one server, or of a set with failover) or a *redis.ClusterClient,
// and stays the caller's to close, after the store. Its timeouts do not matter but for how long it takes to connect,
// and its retries not at all: a decision that may have been made is not asked for again. Its hooks, for traces, are called
// only where its ContextTimeoutEnabled is set: else calls go through a clone of it with the store's timeout, which has
// none. New asks nothing of Redis, so a service starts while that is down. The error names everything that is wrong with
// cfg.
func New(client redis.UniversalClient, cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	epoch := time.Now()
	s := &Store{
		cfg:     cfg,
		elapsed: func() time.Duration { return time.Since(epoch) },
		clock:   func() float64 { return 0 },
	}
	one, isOne := client.(*redis.Client)
	cluster, isCluster := client.(*redis.ClusterClient)
	switch {
	case isOne && one != nil:
		s.lanes.add(s, one)
	case isCluster && cluster != nil:
		s.cluster = cluster
		s.whole.init(s)
	case client == nil, isOne, isCluster:
		return nil, errors.New("redisquota: client is nil")
	default:
		return nil, fmt.Errorf("redisquota: client is a %T, want a *redis.Client or a *redis.ClusterClient", client)
	}
	s.local.init(s)
	s.leases.init(s)
	return s, nil
}

func (s *Store) key(id string) string { return s.cfg.Prefix + "{" + id + "}" }

// want has every request from now on describe the tier called name.
func (s *Store) want(name string) {
	const most = 64
	for {
		old := s.tiers.Load()
		var names []string
		if old != nil && len(*old) < most {
			names = append(names, *old...)
		}
		names = append(names, name)
		if s.tiers.CompareAndSwap(old, &names) {
			return
		}
	}
}

// wanted returns the names of the tiers that scripts asked for.
func (s *Store) wanted() []string {
	if names := s.tiers.Load(); names != nil {
		return *names
	}
	return nil
}

var entries = sync.Pool{New: func() any { return &entry{wake: make(chan bool, 1)} }}

// newEntry returns an entry for n operations.
func newEntry(rules *quota.Rules, n int) *entry {
	e := entries.Get().(*entry)
	e.rules = *rules
	if cap(e.ops) < n {
		e.ops = make([]operation, n)
	}
	e.ops = e.ops[:n]
	return e
}

func (e *entry) free() {
	clear(e.ops)
	e.rules = quota.Rules{}
	entries.Put(e)
}

// Take implements [quota.Store]. It fails where OnFailure is [Closed] and Redis did not decide, and on a closed store. Of a call's Ahead
// it grants nothing.
func (s *Store) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	if s.closed.Load() {
		return ErrClosed
	}
	leases := s.cfg.Leases && len(calls) == 1
	if leases && s.leases.spend(&rules, &calls[0]) {
		s.counts.leased.Add(1)
		return nil
	}
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	if leases {
		return s.leases.take(ctx, &rules, &calls[0])
	}
	for len(calls) > 0 {
		n := min(len(calls), full)
		if s.cluster != nil {
			n = 1 // the next may live elsewhere
		}
		if err := s.take(ctx, &rules, calls[:n]); err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// begin reports whether Redis may be asked, and has Close wait until end.
func (s *Store) begin() bool {
	s.underWay.RLock()
	if s.closed.Load() {
		s.underWay.RUnlock()
		return false
	}
	return true
}

func (s *Store) end() { s.underWay.RUnlock() }

func (s *Store) take(ctx context.Context, rules *quota.Rules, calls []quota.Call) error {
	e := newEntry(rules, len(calls))
	defer e.free()
	for i := range calls {
		e.ops[i] = callOf(&calls[i])
	}
	s.do(ctx, e)
	for i := range e.ops {
		if err := s.conclude(rules, &e.ops[i]); err != nil {
			return err
		}
		if e.ops[i].err == nil {
			s.counts.shared.Add(1)
		}
	}
	return nil
}

// callOf returns the operation that decides a call.
func callOf(c *quota.Call) operation {
	op := operation{kind: take, tenant: c.Tenant, call: c, said: c.Asserted}
	if c.Peek {
		op.kind = look
	}
	return op
}

// conclude sees to it that a call has an answer: where Redis gave none, by the policy.
func (s *Store) conclude(rules *quota.Rules, op *operation) error {
	if op.err == nil {
		s.local.remember(rules, op)
		return nil
	}
	if op.inDoubt && !op.call.Peek {
		s.counts.inDoubt.Add(1)
	}
	if errors.Is(op.err, errBroken) {
		s.logBroken(op.err)
	}
	return s.local.decide(rules, op)
}

// logBroken logs that a key has a value that is not ours, once a second at most: each decision about it finds that.
func (s *Store) logBroken(err error) {
	last, now := s.broken.Load(), int64(s.elapsed())+1
	if (last == 0 || now-last > int64(time.Second)) && s.broken.CompareAndSwap(last, now) {
		s.cfg.Logger.Error("redisquota: decisions go by the policy", "policy", s.cfg.OnFailure.String(), "error", err)
	}
}

// do has the operations of e done, which concern one account or one server.
func (s *Store) do(ctx context.Context, e *entry) {
	l, err := s.laneOf(ctx, e.ops[0].tenant)
	if err != nil {
		e.fail(err)
		return
	}
	l.do(ctx, e)
}

// manage has one operation done that a lease of its tenant must not outlive, and returns why it could not be.
func (s *Store) manage(ctx context.Context, rules *quota.Rules, op operation) error {
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	if s.cfg.Leases {
		s.leases.drop(ctx, op.tenant)
		defer s.leases.drop(ctx, op.tenant) // nor one that was asked for before
	}
	return s.ask(ctx, rules, op)
}

// ask has one operation done, and returns why it could not be.
func (s *Store) ask(ctx context.Context, rules *quota.Rules, op operation) error {
	e := newEntry(rules, 1)
	defer e.free()
	e.ops[0] = op
	s.do(ctx, e)
	return e.ops[0].err
}

// Refund implements [quota.Store]. Where Redis does not answer, the units are lost; those that were admitted while it
// was away are refunded here.
func (s *Store) Refund(ctx context.Context, rules quota.Rules, charges []quota.Charge) error {
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	var errs []error
	for i := range charges {
		c := &charges[i]
		switch {
		case c.Units <= 0:
		case c.Tag == localTag:
			s.local.refund(&rules, c)
		default:
			errs = append(errs, s.refund(ctx, &rules, c))
		}
	}
	return errors.Join(errs...)
}

func (s *Store) refund(ctx context.Context, rules *quota.Rules, c *quota.Charge) error {
	if s.cfg.Leases && s.leases.refund(rules, c) {
		return nil
	}
	err := s.ask(ctx, rules, operation{kind: refund, tenant: c.Tenant, charge: c})
	if s.cluster == nil || !c.Cluster {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	defer cancel()
	return errors.Join(err, s.pools.of(s, rules).refund(ctx, c.Units))
}

// SetTier implements [quota.Store].
func (s *Store) SetTier(ctx context.Context, rules quota.Rules, id string, assigned tenant.Assertion) error {
	return s.manage(ctx, &rules, operation{kind: setTier, tenant: id, assigned: assigned})
}

// Settle implements [quota.Store]. It does not visit every bucket: each is settled when it is next touched, as of now.
func (s *Store) Settle(ctx context.Context, rules quota.Rules, id string) error {
	if id != "" {
		return s.manage(ctx, &rules, operation{kind: settle, tenant: id})
	}
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	defer s.leases.drop(ctx, "")
	l, err := s.laneOf(ctx, sharedID)
	if err != nil {
		return err
	}
	now, err := l.time(ctx)
	if err != nil {
		return err
	}
	s.catalogues.of(rules.Tiers).look(now)
	return nil
}

// Reset implements [quota.Store]. Units that are leased stay so until they are spent or given back.
func (s *Store) Reset(ctx context.Context, rules quota.Rules, id string) error {
	return s.manage(ctx, &rules, operation{kind: reset, tenant: id})
}

// Usage implements [quota.Store].
func (s *Store) Usage(ctx context.Context, rules quota.Rules, call *quota.Call) error {
	c := *call
	c.Cost, c.Peek = 0, true
	err := s.manage(ctx, &rules, callOf(&c))
	if err == nil {
		call.Result = quota.Result{Tier: c.Result.Tier, Spent: c.Result.Spent}
	}
	return err
}

// Ping has each server that the store knows of make a decision about nobody, and returns why one does not. A service that
// is not to start without Redis asks it once; decisions do not depend on it.
func (s *Store) Ping(ctx context.Context) error {
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	if s.cluster != nil {
		if _, err := s.laneOf(ctx, probeID); err != nil {
			return err
		}
	}
	var errs []error
	for _, l := range s.lanes.all() {
		errs = append(errs, l.try(ctx))
	}
	return errors.Join(errs...)
}

// Close implements [quota.Store]. It gives back what the store leased, and counts in Redis what was admitted while that
// was away; the error says what could not be. It may be called twice.
func (s *Store) Close() error {
	s.underWay.Lock()
	closed := s.closed.Swap(true)
	s.underWay.Unlock()
	if closed {
		return nil
	}
	s.leases.close(context.Background())
	err := errors.Join(s.local.close(), s.pools.close())
	s.whole.stop()
	s.lanes.stop()
	return err
}
