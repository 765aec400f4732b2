package redisquota

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
)

// lanes are the ways to the servers, by address. A store of one server has one.
type lanes struct {
	mu     sync.RWMutex
	byAddr map[string]*lane
	only   *lane // nil: there may be several
}

func (ls *lanes) add(s *Store, node *redis.Client) *lane {
	l := &lane{store: s, node: node, of: node}
	if !node.Options().ContextTimeoutEnabled { // else it minds the contexts of calls
		l.node = node.WithTimeout(s.cfg.Timeout)
	}
	l.breaker.counts, l.breaker.try, l.breaker.log = &s.counts, l.try, s.logger(node.Options().Addr)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if s.cluster == nil {
		ls.only = l
	}
	if ls.byAddr == nil {
		ls.byAddr = map[string]*lane{}
	}
	addr := node.Options().Addr
	if known := ls.byAddr[addr]; known != nil {
		if known.of == node {
			return known
		}
		known.stop() // of a client that was closed
	}
	ls.byAddr[addr] = l
	return l
}

// laneOf returns the way to the server that has the account of tenant id.
func (s *Store) laneOf(ctx context.Context, id string) (*lane, error) {
	if s.lanes.only != nil {
		return s.lanes.only, nil
	}
	if err := s.whole.open(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	defer cancel()
	node, err := s.master(ctx, id)
	if err != nil {
		s.whole.note(err)
		return nil, fmt.Errorf("redisquota: %w", err)
	}
	s.lanes.mu.RLock()
	l := s.lanes.byAddr[node.Options().Addr]
	s.lanes.mu.RUnlock()
	if l != nil && l.of == node {
		return l, nil
	}
	return s.lanes.add(s, node), nil
}

// forget stops a lane to a server that is not a master of the cluster any more.
func (ls *lanes) forget(ctx context.Context, l *lane) {
	if l.store.cluster == nil {
		return
	}
	var known sync.Map
	err := l.store.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		known.Store(node.Options().Addr, true)
		return nil
	})
	addr := l.of.Options().Addr
	if _, ok := known.Load(addr); ok || err != nil {
		return
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.byAddr[addr] == l {
		delete(ls.byAddr, addr)
		l.stop()
	}
}

// whole is what is known of a Redis Cluster as a whole: nothing, until the client has found out who has what.
type whole struct {
	breaker
	known atomic.Bool
}

func (w *whole) init(s *Store) {
	w.counts = &s.counts
	w.try = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeMost)
		defer cancel()
		_, err := s.master(ctx, sharedID)
		return err
	}
	w.log = s.logger(strings.Join(s.cluster.Options().Addrs, ","))
}

// master returns the client of the server that has the account of tenant id. A client that knows the Cluster asks
// nobody. One that does not yet asks everybody, and minds neither a context nor the store's timeout.
func (s *Store) master(ctx context.Context, id string) (*redis.Client, error) {
	if s.whole.known.Load() {
		return s.cluster.MasterForKey(ctx, s.key(id))
	}
	type found struct {
		node *redis.Client
		err  error
	}
	done := make(chan found, 1)
	go func() {
		node, err := s.cluster.MasterForKey(ctx, s.key(id))
		done <- found{node, err}
	}()
	select {
	case f := <-done:
		if f.err == nil {
			s.whole.known.Store(true)
			s.whole.note(nil)
		}
		return f.node, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// logger returns the logger for what concerns a server.
func (s *Store) logger(addr string) *slog.Logger {
	return s.cfg.Logger.With("server", addr, "policy", s.cfg.OnFailure.String(), "replicas", s.cfg.Replicas)
}

// all returns every lane.
func (ls *lanes) all() []*lane {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	all := make([]*lane, 0, len(ls.byAddr))
	for _, l := range ls.byAddr {
		all = append(all, l)
	}
	return all
}

func (ls *lanes) stop() {
	for _, l := range ls.all() {
		l.stop()
	}
}

// time returns the time of the lane's server, in microseconds.
func (l *lane) time(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.store.cfg.Timeout)
	defer cancel()
	var r request
	r.init(l.store, &quota.Rules{})
	err := l.sendAll(ctx, []*request{&r})
	return r.now, err
}
