package replay

import (
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Request is one request of a trace.
type Request struct {
	// At is when it comes, since the start of the trace.
	At time.Duration
	// Tenant is a valid ID, Tier the name of a tier or "" for the default.
	Tenant, Tier string
	// Operation names what it asks for, for its cost.
	Operation string
	// Duration is how long it holds its slot.
	Duration time.Duration
}

// Report is what became of a trace.
type Report struct {
	Policy   string
	Capacity int
	// Span is from 0 to the last arrival or end.
	Span time.Duration
	// Busy is the slot time used, IdleWhileWaiting that which nobody used while somebody waited.
	Busy, IdleWhileWaiting time.Duration

	All Group
	// Tiers are in the order of their names, Tenants the worst first: by the 99th percentile of their waits, then by how
	// many were lost, by what they suffered, and by name. At most Config.Top tenants are listed.
	Tiers, Tenants []Group

	Series Series
}

// Utilisation is the part of the slot time that was used, 0 to 1.
func (r *Report) Utilisation() float64 {
	if r.Span == 0 {
		return 0
	}
	return float64(r.Busy) / float64(r.Span) / float64(r.Capacity)
}

// Group is what became of the requests of a tenant, of a tier, or of all.
type Group struct {
	// Name is a tenant's, a tier's, or "". Tier is a tenant's last tier.
	Name, Tier string
	Tenants    int
	Requests   int
	Served     int
	// Refused says how many were turned away, and why; the reasons are in the order of [Reasons].
	Refused [len(reasons)]int
	// Lost says how many of those turned away would have been served without the others.
	Lost int
	// Busy is the slot time that they used.
	Busy time.Duration
	// Wait is how long those that were served waited for a slot; Alone is how long those would have waited that are served
	// without the others.
	Wait, Alone Waits
	// Suffered is the mean wait that the others caused, over the requests that are served with them and without. It may be
	// negative, for a tenant of whose own requests some were turned away.
	Suffered time.Duration
}

// Turned is how many were turned away.
func (g *Group) Turned() int {
	n := 0
	for _, of := range g.Refused {
		n += of
	}
	return n
}

// Waits describe the waits of a group. Percentiles are up to 1 % too high, where a group has many requests; of a group
// without any, all are 0.
type Waits struct{ Mean, P50, P95, P99, Max time.Duration }

// reasons are those that a replay knows.
var reasons = [...]tenant.Reason{
	tenant.ReasonPlan, tenant.ReasonTenant, tenant.ReasonWindow, tenant.ReasonGlobal, tenant.ReasonShare, tenant.ReasonCapacity,
}

// Reasons returns the reasons of [Group.Refused].
func Reasons() []tenant.Reason { return reasons[:] }

// Series is a trace over time, in [Report.Span] divided into steps of equal width.
type Series struct {
	Width time.Duration
	// Tenants are those with the most slot time, the most first, then one without a name for all others together.
	Tenants []Track
}

// Track is one tenant over time; all have the same number of steps.
type Track struct {
	Tenant string
	// Busy is the slot time used in each step, LongestWait the longest wait of the requests that came in it and were served.
	Busy, LongestWait []time.Duration
}
