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
// largest tag that was granted; it never goes back. At a grant to a tenant behind it, it goes on at a quarter of the pace
// at which the tags of all active tenants grow together, or a stream of ever new tenants, each with its credit, would
// stop it, and starve whoever waits at it.
//
//   - A grant adds the time the request is expected to hold its slot: the tenant's average, the pool's for a tenant
//     without history. The release corrects that by what was really held. Charging in advance is what makes the slots
//     that a tenant holds now count; without it long requests would gain over short ones.
//   - A correction puts a tag at most one second ahead of the virtual clock, and idleness takes that back within ten
//     seconds, so that a tenant's past never costs it more than that.
//   - Whenever a tenant begins to wait, and whenever something happens to one that waits, its tag is set to at least the
//     virtual clock less a credit. The credit is how much idleness counts: 100 ms of service, less where the active
//     shares exceed the capacity, in proportion. It is what lets a quiet tenant's short burst go before a flood;
//     without a bound, a tenant that was idle for an hour could hold up the others for as long. Nor is any other way to
//     fall behind the clock for the others' sake: to wait at one's own share or ceiling while they use more of theirs,
//     or to be charged for long requests that have become short. Nobody has credit from before the pool's first grant:
//     tags are at least 0, so that tenants that come at once to a new pool are equal.
//
// Ties go to the tenant whose last grant is longest ago, then to the one that came first: equal tenants take turns.
//
// # The bound
//
// A tenant below its share waits until somebody releases a slot, for no grant is taken back, and for the tenants below
// theirs with smaller tags. Each of these can use at most its lead, credit and correction, times its share, and what its
// last grant holds beyond that, before its tag passes; the sum, divided by the capacity, bounds the wait by the shares,
// the number of tenants and how long requests hold, whatever the queues hold. A wide request adds what follows.
//
// # Wide requests
//
// A request may ask for several slots, all at once, and is charged for each. Where it is first in the order, slots that
// come free are kept for it, so fewer than it asks for are idle at a time; a narrow request that comes before it in the
// order still goes first. Between tenants at or above their shares the narrower request goes first, whatever they exceed
// them by: nobody is sure of slots there, and those kept would be idle for as long as the others take turns with what
// they are sure of.
//
// That is no starvation either way: the wide one's tenant gets nothing else meanwhile, so that it falls below its share as
// what it holds ends, and from then on its place in the order only gets better; and the others wait no longer than until
// as many slots were released. That can be long: beside a request that holds its slot for a minute, a wide one for the
// whole capacity keeps all others idle for that minute, or until it is refused. A request that is wider than all that its
// tenant may hold gets that.
//
// # Refusals
//
// Where a queue is full, or a request would probably wait for longer than it may, it is refused at once. That
// prediction counts the tenant's own waiters only: so many turns on the slots that the tenant may have, each as long as
// most of its requests held at least. These are all where nobody else waits, else those that it holds, or its part of the
// capacity if that is more. Who comes before so many wait as there are such slots is never refused by it. Where the total
// queue is full, the newest waiter of the longest queue for its share makes room, unless that would be the one who comes.
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
// look at all of them. So does, rarely, forgetting, for the map of tenants is made anew when fifteen of sixteen parts of it
// are gone; and a total queue that fills up, which puts its tenants in order of their queues and keeps them so until it is
// half empty. A tenant that neither holds nor waits nor streams is forgotten after ten seconds.
package slots
