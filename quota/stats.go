package quota

// StoreStats is what a [Store] that replicas share counted of itself since it was made. Such a store has a method Stats
// that returns it; [Limiter.StoreStats] asks it.
type StoreStats struct {
	// Shared is false while decisions about some tenants are made without the others, because what is shared is away.
	Shared bool
	// Changes is how often Shared, for one server, became another.
	Changes uint64
	// Decisions were made. Alone of them were made by the failure policy, without what is shared, and Leased from units
	// taken ahead.
	Decisions, Alone, Leased uint64
	// Calls were made over the network for them, of which Failures failed.
	Calls, Failures uint64
	// InDoubt decisions were asked for over the network, and no answer came: each may have been charged without being
	// served, once.
	InDoubt uint64
	// Overrun units of calendar quotas were admitted beyond them while decisions were made alone.
	Overrun uint64
}

// StoreStats returns what the limiter's store counted of itself, and false where it counts nothing.
func (l *Limiter) StoreStats() (StoreStats, bool) {
	s, ok := l.store.(interface{ Stats() StoreStats })
	if !ok {
		return StoreStats{}, false
	}
	return s.Stats(), true
}
