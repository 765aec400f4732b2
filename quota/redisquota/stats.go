package redisquota

import (
	"sync/atomic"

	"github.com/tenantgate/tenantgate/quota"
)

// counts are what a store counts of itself.
type counts struct {
	shared, alone, scripts, failures, inDoubt, overrun, leased, changes atomic.Uint64
}

// Stats returns what the store counted since it was made.
func (s *Store) Stats() quota.StoreStats {
	c := &s.counts
	alone, leased := c.alone.Load(), c.leased.Load()
	stats := quota.StoreStats{
		Shared:    !s.whole.open(),
		Changes:   c.changes.Load(),
		Decisions: c.shared.Load() + alone + leased,
		Alone:     alone,
		Leased:    leased,
		Calls:     c.scripts.Load(),
		Failures:  c.failures.Load(),
		InDoubt:   c.inDoubt.Load(),
		Overrun:   c.overrun.Load(),
	}
	for _, l := range s.lanes.all() {
		stats.Shared = stats.Shared && !l.open()
	}
	return stats
}

// changed says that a server is not asked any more because of err, or is asked again.
func (s *Store) changed(addr string, err error) {
	s.counts.changes.Add(1)
	log := s.cfg.Logger
	if err != nil {
		log.Warn("redisquota: Redis does not answer", "server", addr, "policy", s.cfg.OnFailure.String(), "error", err)
	} else {
		log.Info("redisquota: Redis is back", "server", addr)
	}
}
