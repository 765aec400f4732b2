package slots

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// The bounds of the simulations are worth what they catch.
func TestMeasurements_CatchFaults(t *testing.T) {
	hour := func(t *testing.T, of func(*Core) subject) string { return burstCostsTheCredit(t, of, 3_600_000*ms) }
	for _, tt := range []struct {
		name    string
		measure func(*testing.T, func(*Core) subject) string
		fault   fault
	}{
		{"a shared queue starves the quiet", nobodyStarves, grantsBy(byArrival)},
		{"a wide request starves where narrow ones overtake it", wideIsServed, overtakes(others)},
		{"an idle tenant holds up the others where its credit is unbounded", hour, fault{
			leave: func(c *Core, now int64, r *Request) {
				c.Leave(now, r)
				if l := c.lanes["burst"]; l != nil && c.heaps[ready].has(l) {
					l.tag = 0
					c.heaps[ready].set(c.order(l))
				}
			},
		}},
		{"long requests shut out short ones where the grant charges nothing", shortAreShutOut, fault{
			enter: func(c *Core, now int64, r *Request, t tenant.Tenant) {
				c.Enter(now, r, t)
				chargesNothing(c, r)
			},
			leave: func(c *Core, now int64, r *Request) {
				c.Leave(now, r)
				chargesNothing(c, c.decided...)
			},
		}},
		{"the oldest gain where equals do not take turns", equalGrants, grantsBy(func(c *Core, a, b *lane) bool {
			x, y := c.order(a), c.order(b)
			x.minor, y.minor, x.last, y.last = 0, 0, 0, 0
			return x.before(&y)
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.measure(t, tt.fault.of) == "" {
				t.Error("the measure is within its bound in spite of the fault")
			}
		})
	}
}
