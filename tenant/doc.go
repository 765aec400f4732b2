// Package tenant holds what every part of tenantgate speaks about: who is asking ([Tenant]), what a plan allows
// ([Tier], [Tiers]), and why a request was turned away ([Reason], [Refusal]).
//
// It imports the standard library only, so that code which only needs to know its tenant depends on nothing else.
//
//   - [Tenant], [FromContext], [NewContext], [Detach]: the tenant of a request or of a job.
//   - [Resolver], [First] and the errors of resolving: how a request gets its tenant. The validated-JWT resolver is
//     package jwttenant, next to this one.
//   - [Tier], [NewTiers], [Tiers]: the catalogue of plans that the limiters, the pools and the gate share.
//   - [LogHandler], [Transport]: carry the tenant into log lines and to chosen hosts.
//
// # What a tenant ID is
//
// 1 to 128 bytes, [A-Za-z0-9][A-Za-z0-9._-]*, compared case-sensitively. Whatever else is refused with a fixed text;
// an ID that was refused is never echoed, logged or used as a label. IDs that begin with an underscore are the
// project's own: [AnonymousID] and the metrics' "__other__".
//
// # Which tier applies
//
// An assignment ([Tiers.Assign]) wins over what was asserted of the tenant ([Tenant.Tier]), which wins over the
// default tier. Of several assertions the one with the latest [Tenant.TierAsOf] wins ([Assertion]), so that a token
// issued before an upgrade cannot undo it. A name that the catalogue does not have means the default tier: a plan
// that nobody configured is never unlimited.
package tenant
