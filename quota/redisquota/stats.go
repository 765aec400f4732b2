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
		Shared:    s.whole.open() == nil,
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
		stats.Shared = stats.Shared && l.open() == nil
	}
	return stats
}
