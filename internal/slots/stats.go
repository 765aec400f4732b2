package slots

import "github.com/tenantgate/tenantgate/tenant"

// Stats returns what the core holds, with every tenant that it remembers.
func (c *Core) Stats() tenant.SlotStats {
	s := tenant.SlotStats{
		Capacity: c.capacity, InUse: c.inUse, Waiting: c.queue.len, Streams: c.streams, Closing: c.closing,
		Tenants: make([]tenant.TenantSlots, 0, len(c.lanes)),
	}
	for _, l := range c.lanes {
		s.Tenants = append(s.Tenants, tenant.TenantSlots{
			ID: l.id, Tier: l.tier, Share: l.share, Ceiling: l.ceiling, InUse: l.inUse, Waiting: l.queue.len, Streams: l.streams,
		})
	}
	return s
}

// TierOf returns the name of the tier that applies to t, given what the core knows of t. It changes nothing.
func (c *Core) TierOf(t tenant.Tenant) string {
	if l, ok := c.lanes[t.ID]; ok {
		t.Tier = l.asserted.Merge(t.Assertion()).Tier
	}
	return c.tiers.For(t).Name
}

// Idle reports whether no slot is held and nobody waits.
func (c *Core) Idle() bool { return c.inUse == 0 && c.queue.len == 0 }

// Closing reports whether new requests are refused.
func (c *Core) Closing() bool { return c.closing }
