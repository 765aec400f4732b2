// Package fairslots shares a service's capacity between tenants: how many requests run at once, and whose is next. One
// tenant's flood does not hurt the others, and no slot idles while a request waits that may run.
//
// The rule, at every grant:
//
//	A tenant below its share goes before one at or above it. Below, the one with the least service for its share goes
//	first; above, the one that exceeds its share the least.
//
// A share is what a tenant is sure of while the shares of the active tenants fit the capacity, and a proportion beyond
// that. It is no cap: with free slots anybody may run, up to the tier's Ceiling. For a cap see package bulkhead, which
// leaves slots idle; where even the first slot of a quiet tenant must never wait for a running request, a cap (or a
// Ceiling below the capacity) is the better choice.
//
// # What it guarantees
//
//   - Never a free slot while a request that may run waits; for one that asks for several at once (AcquireN) and whose
//     turn it is, fewer than it asks for are kept free until there are as many.
//   - No grant to a tenant at or above its share while one below its share waits and may run.
//   - First come first served within a tenant.
//   - In use is never above the capacity nor a tenant's above its ceiling, but while what was held before a change
//     drains.
//   - The wait of a tenant below its share depends on the shares, the number of tenants and how long requests hold their
//     slots, never on the length of anybody's queue.
//   - Under lasting floods slot time divides as the shares do, also with more tenants than slots.
//   - Whatever ends a request (cancellation, deadline, panic, a second release, Resize, Close), its slot is free again
//     and no waiter is lost.
//   - Memory is bounded by the tenants of the last ten seconds. A tenant that was idle for longer is forgotten, and has
//     gained at most the credit of 100 ms of service by it.
//
// # What it refuses
//
// A request waits unless its tenant's queue is full, the queue of all is full and its tenant's is the longest for its
// share, or it would probably wait for longer than it may. [Pool.Acquire] says which error is which.
//
// # What it costs
//
// An operation costs time in the logarithm of the number of tenants, and none in the number of waiters; only Resize,
// Stats and the redefinition of a tier look at every tenant. Streams ([Pool.AcquireStream]) are counted and take no slot.
//
// Slots are local to a process. A rate across replicas is package quota's.
package fairslots
