package quota

import (
	"sync"
	"time"

	"github.com/tenantgate/tenantgate/internal/bucket"
)

// clusterPolicy is the policy of the bucket that all tenants share.
const clusterPolicy = "cluster"

// cluster is the bucket of a [Memory] that all tenants share. Its lock is taken with a shard's held, never the other way
// round.
type cluster struct {
	mu     sync.Mutex
	bucket bucket.Bucket
	mono   time.Duration // the latest that was seen
}

// take takes cost, and as much of ahead as there is beside it, where the bucket holds the cost and debit says so. wait
// is how long it is short.
func (c *cluster) take(now time.Duration, limit Rate, cost, ahead int, debit bool) (wait time.Duration, leased int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono = max(c.mono, now)
	c.bucket.Settle(c.mono, limit.PerSecond, float64(limit.Burst))
	level := c.bucket.Level(c.mono)
	if level < float64(cost) {
		return c.bucket.Wait(now, float64(cost)), 0
	}
	if !debit {
		return 0, 0
	}
	leased = min(ahead, whole(level)-cost)
	c.bucket.Take(c.mono, float64(cost+leased))
	return 0, leased
}

// give puts units back.
func (c *cluster) give(now time.Duration, units int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono = max(c.mono, now)
	c.bucket.Give(c.mono, float64(units))
}
