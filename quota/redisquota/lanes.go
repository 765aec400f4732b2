package redisquota

import (
	"context"
	"fmt"
	"sync"

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
	l := &lane{store: s, node: node.WithTimeout(s.cfg.Timeout), of: node}
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	defer cancel()
	node, err := s.cluster.MasterForKey(ctx, s.key(id))
	if err != nil {
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
