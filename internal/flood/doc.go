// Package flood is the scenario that tenantgate measures itself by, as code that the example, the tests and the
// comparisons share.
//
// A service runs [Capacity] requests at once, and each tenant is sure of [Share] of them. A noisy tenant submits 500
// requests of 20 ms at one instant; a quiet one submits 10, 10 ms later. [Run] sends them, over whatever it is given,
// in real or in virtual time, and [Report] is what came of it: how long the quiet tenant waited, and how long the noisy
// one took for everything.
//
// Two figures bound what is possible. Every slot is busy with a request of the noisy tenant until 20 ms, so that of the
// quiet tenant's ten requests the six of its share end at 40 ms and the rest 20 ms later: 30 ms in the median and 50 ms
// at most. And 510 requests of 20 ms on ten slots take 1.02 s. A hard cap reaches the first by leaving slots idle, a
// shared pool the second by letting the quiet tenant wait for the whole flood.
//
// [Policies] are the four ways to hand out the slots that are compared: package bulkhead, package fairslots, and the
// two that people write first, [Shared] and [Published], which are no part of the product.
package flood
