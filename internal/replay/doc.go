// Package replay runs a trace of requests through a policy in virtual time: what would have happened to each tenant, had
// the service handed out its slots in this way?
//
// The decisions are those of the product, not a model of them: the core that bulkhead and fairslots are shells of, and
// the limiter of package quota, each asked with a time that the replay makes up. What is simulated is only the rest of
// the world: requests come when the trace says and hold their slots for as long as it says. For comparison there are the
// two policies that people write first, one queue for all and the published work-conserving rule.
//
// A [Run] takes the requests of a trace one by one, in the order of their times, and keeps nothing of them but sums: its
// memory is bounded by the tenants and by the requests that run or wait at one time. The same trace gives the same
// [Report], to the last digit.
//
// # Suffering from others
//
// What a tenant suffers from the others is the difference between its waits and those that it would have had alone: the
// same requests on the same service, with nobody else there. A tenant alone is served first come first served on as many
// slots as the policy lets it hold, which is computed beside the replay. A cluster-wide bucket is one of the others.
package replay
