// Package middleware is the gate: net/http middleware that gives each request a tenant, takes its cost from the tenant's
// limits, and lets it run once it has one of the service's slots.
//
//	find out who asks  ->  how often     ->  how many at once  ->  handler
//	Gate.Tenant            Gate.Quota        Gate.Slots
//	400, 401, 403, 503     429, 503          429, 503
//
// [New] makes a [Gate]. [Gate.Handler] is the whole chain; the pieces can be mounted one by one, in this order. Each is a
// func(http.Handler) http.Handler, for a chi router's Use and for the standard library alike. What a request cannot be
// refused for, it is not asked for: a gate without Config.Quota or Config.Slots leaves that piece out.
//
//   - [ChiPattern], [MuxPattern], [CheckCosts]: what an operation is called, before the request is routed.
//   - Config.Weights: operations that take more than one slot.
//   - [Outcome], Config.Observe: what became of a request, for access logs and traces.
//   - [Stream]: streams of events and WebSockets, which hold no slot and are counted apart. [Refuse]: the answer where
//     there may be no more. [Release]: the slot back early, for what is counted nowhere.
//   - [Transport]: the same limits for outbound calls, by the tenant in their context.
//   - The metrics: a Gate is a prometheus.Collector.
//   - [Gate.Drain], [Gate.Close]: the end.
//
// # Answers
//
// Every answer to a request that quota judged says what the tenant has left ([RateHeaders]). A refusal is a problem
// document (RFC 9457) with fixed texts, reason, tier, limit and retry_after:
//
//	the tenant's bucket is short, a calendar quota used up   429  tenant, window
//	the operation takes more than the plan ever allows       429  plan         no Retry-After
//	the bucket that all tenants share is short               429  global
//	own queue full, or too long a wait at the own share      429  share
//	service full, or too long a wait                         503  capacity     Config.CapacityStatus
//	draining, closing                                        503  closing      Config.ClosingStatus
//	the shared store is down, and the limiter fails closed   503  unavailable
//
// Retry-After is whole seconds, rounded up: a client that waits so long, alone, passes. A request without a usable tenant
// gets a challenge as RFC 6750 has it, with the schemes that the resolver names by a method Challenge() string. The cause
// of an error goes to Config.Observe and never to the client. A client that left while it waited gets nothing. A refusal
// does not read the request's body.
//
// Too long a wait is one beyond the request's deadline or the pool's MaxWait. Where the tenant's own queue says so
// beforehand, fairslots and bulkhead refuse at once; their Retry-After is how long that queue will take. A refusal of
// [Stream] is one for share, where all of the tenant's streams are in use, or for plan, where it may have none.
//
// # A request that meets the gate again
//
// A gate that is mounted twice, or that a handler calls in process with its request's context, judges a request once: one
// cost, one slot, one count. One call at a time runs on the request's slot; a second one at the same time takes a slot of
// its own. A call without a credential is the tenant's whose request it is made in; a call of another tenant is a request
// of its own. [Stream], [Release], tenant.Detach and the end of the request end this.
//
// # Metrics
//
// Each name is there for the service, and as tenantgate_tenant_... with the label tenant for the first Config.TopTenants
// tenants and "__other__". The totals are the sums, and have the requests whose tenant is not known besides. A tenant has
// a series for each tier that it was on. All have the label gate, Config.Name.
//
//	tenantgate_requests_total           counter    tier, outcome ([Result]), reason: requests that are done
//	tenantgate_in_flight_requests       gauge      requests that hold a slot; without slots, that run
//	tenantgate_streams                  gauge      requests that run without a slot, as streams
//	tenantgate_queued_requests          gauge      requests that wait for a slot
//	tenantgate_slot_wait_seconds        histogram  how long they waited, in vain or not
//	tenantgate_share_slots              gauge      shares of the tenants seen lately
//
// And of the service alone: tenantgate_capacity_slots, tenantgate_unknown_tiers_total,
// tenantgate_ignored_tier_claims_total, tenantgate_tier_lookup_failures_total and tenantgate_refund_failures_total. Where
// the resolver verifies tokens (package jwttenant's), also:
//
//	tenantgate_token_checks_total                      counter  by: "memory" or "signature"
//	tenantgate_remembered_tokens                       gauge
//	tenantgate_issuer_keys                             gauge    issuer: keys that are fetched, and count
//	tenantgate_issuer_skipped_keys                     gauge    issuer: and such as do not
//	tenantgate_issuer_key_fetches_total                counter  issuer
//	tenantgate_issuer_key_fetch_failures_total         counter  issuer
//	tenantgate_issuer_keys_fetched_timestamp_seconds   gauge    issuer: when they last were; 0: never
//
// And where the limiter's store is one that replicas share (package redisquota's):
//
//	tenantgate_store_shared                gauge      1 while all decisions are shared
//	tenantgate_store_changes_total         counter    how often a server of it went away or came back
//	tenantgate_store_decisions_total       counter    by: "server", "lease" or, while the server is away, "alone"
//	tenantgate_store_calls_total           counter    calls of the server
//	tenantgate_store_call_failures_total   counter    of which failed
//	tenantgate_store_in_doubt_total        counter    decisions that may have been charged without being served
//	tenantgate_store_overrun_units_total   counter    units beyond calendar quotas, while the server was away
//
// # What to know about net/http
//
//   - http.Server.WriteTimeout runs while a request waits for a slot: it must be longer than the pool's MaxWait and the
//     handler's time together, or the client gets no answer.
//   - http.TimeoutHandler goes outside of the gate. Inside, it answers while the handler that it gave up goes on: then
//     the slot is free and the work is not done.
//   - Two gates around one another need a pool each: a request that takes two slots of one pool waits for itself.
//   - CORS goes outside of the gate: a preflight carries no credential. See also Config.SkipPreflights.
//   - Over HTTP/1, net/http notices that a client has left only once the request's body was read. One that left before
//     waits until MaxWait. And net/http reads up to 256 KiB of an unread body before it sends an answer: set ReadTimeout.
//   - http.Server.Shutdown does not end the requests that wait: call [Gate.Drain] first, or [Gate.Close]. Nor does it end
//     streams, and it waits for those that were not hijacked: their handlers must learn of the end from you.
//   - A handler whose client reads slowly, or not at all, holds its slot meanwhile: set WriteTimeout. For a stream,
//     which that would end too, http.ResponseController.SetWriteDeadline puts it off at each event.
//
// No ResponseWriter is wrapped: Flusher, Hijacker and http.ResponseController work as without the gate.
package middleware
