package tenant

// SlotStats is what a pool of slots holds at one instant, all numbers taken together.
type SlotStats struct {
	// Capacity is how many requests may run at once.
	Capacity int
	// InUse and Waiting are sums over all tenants. InUse exceeds Capacity only while a lowered capacity drains.
	InUse, Waiting int
	// Streams is how many requests run without a slot, as streams.
	Streams int
	// Closing is set once the pool drains or is closed.
	Closing bool
	// Tenants are the tenants the pool remembers, in no order: those that hold, wait or stream, and those that did lately.
	Tenants []TenantSlots
}

// TenantSlots is one tenant's part of a [SlotStats].
type TenantSlots struct {
	ID, Tier string
	// Share and Ceiling are the tier's, in slots. Ceiling 0: the whole capacity.
	Share, Ceiling int
	InUse, Waiting int
	// Streams is how many of its requests run without a slot, as streams.
	Streams int
}
