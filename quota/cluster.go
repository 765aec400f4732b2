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

// take takes the cost of j's call, and as much of ahead as there is beside it above the reserve, where the bucket serves
// the cost and debit says so. wait is how long it does not.
func (c *cluster) take(j *judgement, ahead int, debit bool) (wait time.Duration, leased int) {
	limit, now := j.rules.Cluster, j.now.mono
	cost, line := float64(j.call.Cost), j.rules.Reserve*float64(limit.Burst)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono = max(c.mono, now)
	c.bucket.Settle(c.mono, limit.PerSecond, float64(limit.Burst))
	level := c.bucket.Level(c.mono)
	if level < cost+line && cost > 0 {
		// The cost passes once the bucket holds it above the line, or once it holds it at all and the tenant's is half
		// full. None of these comes undone while the caller waits alone, so that both of two hold from the later on, and
		// either from the earlier: the wait is exact, and stays so where it is joined with those of the other limits.
		above := waitFor(&c.bucket, cost+line, c.mono, now)
		below := max(j.quietWait(), waitFor(&c.bucket, cost, c.mono, now))
		if wait = min(above, below); wait > 0 {
			return wait, 0
		}
	}
	if !debit {
		return 0, 0
	}
	leased = max(0, min(ahead, whole(level-line)-j.call.Cost))
	c.bucket.Take(c.mono, float64(j.call.Cost+leased))
	return 0, leased
}

// give puts units back.
func (c *cluster) give(now time.Duration, units int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono = max(c.mono, now)
	c.bucket.Give(c.mono, float64(units))
}
