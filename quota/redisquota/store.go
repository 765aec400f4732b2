package redisquota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
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
		if old != nil && slices.Contains(*old, name) {
			return
		}
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
