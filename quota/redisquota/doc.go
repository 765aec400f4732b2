// Package redisquota is a [quota.Store] in Redis: limiters that use the same one share their limits, whichever process
// they are in. docs/redis.md says how to operate it.
//
//   - [New], [Config]: a [Store] on a client of go-redis; a limiter takes it as its quota.Config.Store.
//   - [Policy]: what decides while Redis does not.
//   - [Store.Stats]: what the store counted of itself.
//
// Shared are the tenants' buckets, their calendar quotas, the bucket of all tenants, and what Limiter.SetTier assigned.
// Not shared are the catalogue of tiers, what Tiers.Assign assigned, and slots.
//
// It is not for one process, for which a [quota.Memory] decides in less than a microsecond; nor for what a process can
// do at once, which is its own affair (package fairslots); nor for a bill, unless Redis keeps what it acknowledged.
//
// # What is guaranteed
//
//   - It decides as the store in process would that saw all calls, to the last bit: see "The bucket". Where units are
//     leased it may also refuse what that would admit: see "Leases".
//   - All or nothing, over all replicas: a refusal takes nothing from any limit, nor shows another call less.
//   - Usage is what was admitted, less what was refunded. No call is made twice: one whose reply was lost may have
//     charged in vain, once, and is counted (InDoubt).
//   - Over any interval and all replicas, admitted <= burst + rate x time, leases or not.
//   - A decision takes no longer than two timeouts; where the server failed several times in a row it waits for
//     nothing.
//
// It holds as long as Redis keeps what it wrote. A failover may lose the last writes, for replication is asynchronous;
// what they took can be taken again. While Redis is away the policy holds instead.
//
// # One call for all that wait
//
// A decision costs Redis less than the way there: the system calls of a message, a wake-up on either side, and the
// start of a script. So two calls at most are under way to a server, and decisions that are asked for meanwhile go with
// the next, up to 128 of them; only where that is not enough are there more calls at once, 16 at most. The first that
// waits makes the call for the others, and there is no goroutine between. One caller alone never waits for company, and
// the more there are, the larger the calls: with 64 callers there is about one for twenty decisions.
//
// # The script
//
// A call is one script on the keys of its tenants. It reads all accounts, decides the operations in their order, and
// then writes each account that changed, once. So it is atomic, and an error before it writes leaves everything as it
// was. Its flags (#!lua, without allow-oom or no-writes) have Redis 7 refuse it where it could not write. What goes in
// and comes out is packed binary, for numbers as text would lose digits and time.
//
// Most accounts are plain: under a rate, with no windows but a day's and a month's, nothing assigned and nothing
// leased. A take on a plain account is decided in local variables, in one loop. For all else there are functions, which
// are made only where a call needs one, and which decide the plain ones alike: the tests run everything a second time
// without the loop. An account is one string of 74 bytes and its tier's name where it is plain, else of 148 and three
// names.
//
// # The bucket
//
// It is the bucket of package quota, two numbers (n, t) and the same formula, in the same order of operations,
//
//	level(t') = min(b, n + r·(t' - t))
//
// and n is stored as the double that it is. So a property over random operations can ask for equality with the store in
// process, not for a tolerance. Nothing runs between two calls: an account that nobody asks for costs nothing, and
// expires when it would say what a new one says. Waits are computed here, from n and t, with the code of the store in
// process, and rounded up to a whole microsecond, for that is how Redis counts. Windows begin at UTC seconds, minutes,
// hours and days; the first of a month is found by days alone (Howard Hinnant, civil_from_days, in "chrono-Compatible
// Low-Level Date Algorithms").
//
// # Leases
//
// With [Config.Leases] the store debits units ahead for a tenant that asks often, from every limit of its at once, and
// decides on these by itself. Let T be the tokens in Redis and H the units of leases that are neither over nor given
// back. A bucket refills only up to b - H, so T + H <= b at every instant. Then over any interval from s to t, replicas
// that lease and replicas that do not admit no more than b + r·(t - s):
//
// An admitted unit was taken from T within the interval, or was in a lease at s. Those in a lease at s are H(s) at
// most, and what comes back into T of these was not spent and no longer can be. Besides that, T gains only what is
// refilled, r·(t - s) at most: the room of a lease is refilled from its end on, and not for the time before. So what is
// admitted is T(s) + H(s) + r·(t - s) at most. And T(s) + H(s) is b at most.
//
// A replica takes its lease to end a span after it asked, Redis the same span after it granted, which is later: what
// comes back late is ignored, not added. So nothing depends on a replica telling, or living: one that dies strands its
// units until the lease is over, with a second of the clock and in less than two; of calendar quotas they stay charged.
// A lease never crosses the end of a window that counts it, nor takes from the cluster's reserve.
//
// The price is refusals that need not be: a tenant is refused while another replica holds what it lacks. So a replica
// leases at most half its part of the burst, b/(2·Replicas), no more than the tenant asked for lately, and nothing
// where that half is below 8 units; and it gives back what it does not use within half a second.
//
// In a Redis Cluster the bucket of all tenants lives on one server and its tenants on all. Its tokens are leased in the
// same way, whatever Config.Leases says, and each call takes along what it may need: see pool.go.
//
// # While Redis is away
//
// Three failures in a row open a breaker, and one probe every 250 ms, which no request waits for, closes it again.
// Until then the policy decides. [Local] keeps a [quota.Memory] of this replica's part of every limit, so that all
// replicas together stay within about what there is to share; [Closed] refuses; [Open] admits and counts nothing. Local
// also keeps, for each tenant, what it admitted in the latest window of each kind, and counts it in Redis afterwards.
// Each such posting has a name that Redis remembers for a day, so it may be sent as often as it takes.
//
// Redis' buckets regain during an outage, and Local's are full at first. So over an interval that touches one a tenant
// may have the local bursts besides, and its rate once more for as long as the outage lasted.
//
// # Clocks
//
// Redis' clock is the only one by which buckets, windows and leases are kept: replicas need not agree. One that steps
// back stands still until it is where it was. One that jumps ahead refills what that time is worth, a burst at most,
// begins windows early, and ends leases that replicas still spend, for two seconds. Only the moments at which tiers
// were asserted and assigned are by the clocks of those who did.
package redisquota
