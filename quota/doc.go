// Package quota decides how often a tenant may: a token bucket for each tenant, calendar quotas beside it, and one
// bucket that all tenants share.
//
//   - [New], [Config], [Costs], [Rate]: a [Limiter] on a catalogue of tiers ([tenant.Tiers]).
//   - [Limiter.Take] and [Limiter.Peek] answer with a [Decision]; [Limiter.Refund] takes one back.
//   - [Limiter.SetTier], [Limiter.Reset], [Limiter.Usage]: what operators and billing need.
//   - [Store]: where the state is kept. [Memory] keeps it in this process; package redisquota's keeps it in Redis, for
//     replicas to share. Both implement the same interface, and package quotatest holds both to the same contract.
//   - [Limiter.StoreStats]: what a store that replicas share counted of itself.
//
// It says how often, never how many at once: that is what packages bulkhead and fairslots are for. It does not queue:
// a request that has to wait is told for how long. It is not a bill either: usage is exact while the process lives,
// and gone with it, unless the store is another than Memory; in Redis it lives as long as Redis keeps it.
//
// # What is guaranteed
//
//   - All or nothing. A request passes only if the tenant's bucket, the cluster's and every calendar quota hold its
//     cost. A refusal takes nothing from any of them, not even for a moment that another request sees.
//   - Over any interval a tenant is admitted at most its burst and its rate times that interval, and of a calendar
//     quota at most its limit in each UTC window: usage is the sum of what was admitted, less what was refunded.
//   - A caller that waits exactly [Decision.RetryAfter], alone, passes; one that comes a nanosecond earlier does not.
//   - A change of tier hands out nothing: the bucket regains at the old rate up to that moment and at the new one from
//     then on, and keeps its tokens as far as the new burst has room. It takes effect before the call that made it
//     returns, and no request that is made after that is judged by the old plan.
//   - Memory is bounded by the tenants of the last while, and forgetting the others cannot be noticed.
//
// # The bucket
//
// A bucket of burst b and rate r stores what it held, n, at one instant, t. At any later instant t' it holds
//
//	level(t') = min(b, n + r·(t' - t))
//
// This is the token bucket as in [golang.org/x/time/rate], which refills whenever it is asked; here only a take, a
// refund and a change of the limit move (n, t). A refusal does not, so that what it promised is computed from the same
// two numbers when it comes due. A call with an older time than t finds n: time that was paid for once is not paid for
// again.
//
// RetryAfter for a cost c is the smallest whole number of nanoseconds d with level(t' + d) >= c. The quotient
// (c - n)/r gives it but for rounding, in either direction: rounded down, the caller comes back in vain (and a client
// that rounds to seconds tries in a loop). So the quotient is a guess only, and put right against level itself, which
// never decreases in d, because neither product nor quotient nor sum does when it is rounded. In the usual case this
// takes two evaluations. Where no Duration is long enough, or the rate is 0, RetryAfter is [Never].
//
// Tokens are float64, rounded by at most one part in 2^53 at each take; that does not add up to anything in a million
// takes (there is a test). The property tests compare a [Limiter], over random operations, with a model in fractions.
//
// GCRA, the generic cell rate algorithm, stores t - (b - n)/r instead: one number. But a change of rate then rescales
// what is owed, and a rate of 0 cannot be said.
//
// # The reserve
//
// Many tenants, each within its own limits, can drain the cluster's bucket, and a tenant that asks for next to nothing
// is then refused with them. [Config.GlobalReserve] keeps the last fraction of that bucket for quiet tenants: those
// whose own bucket is at least half full before the request. With the line at GlobalReserve times the cluster's burst, a
// quiet tenant is served while the cluster holds the cost, and any other while it holds the cost and the line.
//
// RetryAfter is the time until either comes true: until the cluster holds the cost above the line, or until it holds the
// cost and the tenant's bucket is half full. Waiting alone undoes neither, so this too is exact.
//
// Who lives on the reserve is not quiet for long: it has half its burst and one request more, and after that its own
// rate. But a new tenant is quiet, and so is one whose request costs half its burst or more: the reserve does not hold
// back a crowd of such. Tenants of an unlimited tier have no bucket, and are never quiet.
//
// # Forgetting
//
// An account can be forgotten once a new one would say the same: its bucket is full, and no calendar window that holds
// now has usage. A new tenant's bucket is full too, and time never runs backwards in a [Memory], so every answer from
// then on is the same, except for one that depends on what the tenant was before: a tenant that comes back on another
// tier starts full on it, and one that comes back with an older token than the last is believed. For that not to
// happen to a busy tenant, an account is kept for ten seconds after the last take in any case.
//
// With a daily quota in any tier, a tenant is therefore remembered until midnight, and with a monthly one until the
// month is over: exactness costs about 200 bytes a tenant, where it costs 150 without.
//
// # Clocks
//
// Buckets live by the monotonic clock and windows by the wall's. A clock that steps back stands still until it is where
// it was before: nothing is minted, and no window comes back or is lost. RetryAfter includes the way back.
package quota
