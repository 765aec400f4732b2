// Package bulkhead caps how many requests each tenant may run at once, before the service's own capacity. A tenant
// holds at most the Share of its tier, whatever is free. While it waits for its own share it occupies nothing that
// others use; requests that have passed their own lane get the capacity in the order in which they passed.
//
// Isolation is as strict as it can be: the slots that a tenant may not use are there for the others at once. The price
// is throughput, because slots stay idle while requests wait. Package fairslots gives nearly the same isolation at the
// throughput of a shared pool; prefer it unless a tenant must not use more than its share even of an idle service, for
// example because each request holds a connection that the plan counts.
//
// A request that asks for several slots at once (AcquireN) has those that come free kept for it when its turn has come.
// Streams (AcquireStream) are counted and take no slot.
//
// Memory is bounded by the tenants of the last ten seconds. An operation costs time in the logarithm of the number of
// tenants, and none in the number of waiters; only Resize, Stats and the redefinition of a tier look at every tenant and
// waiter. Slots are local to a process.
package bulkhead
