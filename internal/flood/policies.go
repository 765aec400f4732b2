package flood

import (
	"context"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/tenant"
)

// Slots is a way to hand out slots, as the gate takes it.
type Slots interface {
	Acquire(ctx context.Context, t tenant.Tenant) (release func(), err error)
	Stats() tenant.SlotStats
}

// Policy is one of the ways that are compared.
type Policy struct {
	Name string
	// New returns [Capacity] slots, with room for the whole flood to wait.
	New func(*tenant.Tiers) (Slots, error)
}

// Policies are compared in this order, each better than the one before at something.
var Policies = []Policy{
	{"shared FIFO", func(*tenant.Tiers) (Slots, error) { return NewShared(Capacity), nil }},
	{"hard cap", func(tiers *tenant.Tiers) (Slots, error) {
		return bulkhead.New(bulkhead.Config{
			Capacity: Capacity, Tiers: tiers, MaxQueue: Noisy.Requests, MaxWaiting: Noisy.Requests + Quiet.Requests, MaxWait: -1,
		})
	}},
	{"published rule", func(tiers *tenant.Tiers) (Slots, error) { return NewPublished(Capacity, tiers), nil }},
	{"fairslots", func(tiers *tenant.Tiers) (Slots, error) {
		return fairslots.New(fairslots.Config{
			Capacity: Capacity, Tiers: tiers, MaxQueue: Noisy.Requests, MaxWaiting: Noisy.Requests + Quiet.Requests, MaxWait: -1,
		})
	}},
}
