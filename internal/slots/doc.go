// Package slots is what bulkhead and fairslots share: who holds a slot, who waits, and whose turn is next.
//
// [Core] decides. It has no clock, lock or goroutine: the time is an argument, so the same code runs a service and a
// simulation. [Pool] is the thin shell around it that blocks; its comment states the locking rule.
//
// # The fair rule
//
// At every grant:
//
//	A tenant below its share goes before one at or above it. Below, the one with the least service for its share goes
//	first; above, the one that exceeds its share the least.
//
// The first sentence is the isolation of a hard cap. Because the rule is an order and no filter, a free slot is never
// left idle while somebody who may run waits; the well-known rule "above the share only if nobody else waits" is a
// filter, and leaves slots idle as soon as two tenants above their shares wait for each other.
//
// "Service" is start-time fair queuing (Goyal, Vin, Cheng: Start-time Fair Queuing, SIGCOMM 1996) with the weights as
// shares. Each tenant has a tag: the slot-seconds it has received, divided by its share. The virtual clock is the
// largest tag that was granted; it never goes back.
//
//   - A grant adds the time the request is expected to hold its slot: the tenant's average, the pool's for a tenant
//     without history. The release corrects that by what was really held. Charging in advance is what makes the slots
//     that a tenant holds now count; without it long requests would gain over short ones.
//   - A correction puts a tag at most one second ahead of the virtual clock, and idleness takes that back within ten
//     seconds, so that a tenant's past never costs it more than that. Nor does it put a tag further behind the clock
//     than the credit below: a grant moves the clock by what was expected, and a tenant whose long requests have become
//     short would else be served alone until it had caught up.
//   - A tenant that begins to wait has a tag of at least the virtual clock less a credit. The credit is how much
//     idleness counts: 100 ms of service, less where the active shares exceed the capacity, in proportion. It is what
//     lets a quiet tenant's short burst go before a flood; without a bound, a tenant that was idle for an hour could
//     hold up the others for as long. Nobody has credit from before the pool's first grant: tags are at least 0, so
//     that tenants that come at once to a new pool are equal. A tenant that waits for its own ceiling is not behind
//     for the others' sake, so the same bound holds for it.
//
// Ties go to the tenant whose last grant is longest ago, then to the one that came first: equal tenants take turns.
//
// # The bound
//
// A tenant below its share waits for the tenants below theirs with smaller tags only. Each of them can use at most its
// lead, credit and correction, times its share before its tag passes; the sum, divided by the capacity, bounds the wait
// by the shares and the number of tenants, whatever the queues hold.
//
// # The hard rule
//
// A tenant holds at most its share. Its waiters pass its own lane in the order in which they came, as many as the share
// has room for, and get the capacity in the order in which they passed. A waiter in the lane occupies nothing shared.
//
// # Cost
//
// Waiters are in linked lists through themselves; tenants with a waiter that may run are in a heap that knows their
// places. An operation costs the logarithm of the number of such tenants. Resize, a tier that is defined anew and Stats
// look at all of them; so does, rarely, forgetting: the map of tenants is made anew when three quarters of it are gone.
// A tenant that neither holds nor waits is forgotten after ten seconds.
package slots
