package middleware

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// wideSlots is a pool that hands out several slots at once.
type wideSlots interface {
	AcquireN(ctx context.Context, t tenant.Tenant, n int) (release func(), err error)
}

// checkWeights tells fail every fault of c.Weights.
func (c *Config) checkWeights(fail func(field, format string, args ...any)) {
	if len(c.Weights) == 0 {
		return
	}
	for _, operation := range slices.Sorted(maps.Keys(c.Weights)) {
		if n := c.Weights[operation]; n < 1 {
			fail("Weights", "is %d for %q, want 1 or more", n, operation)
		}
	}
	if c.Operation == nil {
		fail("Weights", "is set without Operation, which says what weighs what")
	}
	if c.Slots == nil {
		fail("Weights", "is set without Slots")
	} else if _, ok := c.Slots.(wideSlots); !ok {
		fail("Weights", "is set, and a %T has no AcquireN", c.Slots)
	}
}

// weight is how many slots the request of p takes.
func (g *Gate) weight(r *http.Request, p *passage) int {
	if len(g.cfg.Weights) == 0 {
		return 1
	}
	n, ok := g.cfg.Weights[g.operation(r, p)]
	if !ok {
		n = g.cfg.Weights[quota.DefaultOperation]
	}
	return max(n, 1)
}
