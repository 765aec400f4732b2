// Package tenant holds what every part of tenantgate speaks about: who is asking ([Tenant]), what a plan allows
// ([Tier], [Tiers]), and why a request was turned away ([Reason], [Refusal]).
//
// It imports the standard library only, so that code which only needs to know its tenant depends on nothing else.
//
//   - [Tenant], [FromContext], [NewContext], [Detach]: the tenant of a request or of a job.
//   - [Resolver] and the errors of resolving: how a request gets its tenant. [APIKeys] does it by keys, and package
//     jwttenant, next to this one, by validated tokens; [First] tries several, [Anonymous] lets in who has none, and
//     [Subdomain] holds the host against whom they found.
//   - [Tier], [NewTiers], [Tiers]: the catalogue of plans that the limiters, the pools and the gate share.
//   - [LogHandler], [Transport]: carry the tenant into log lines and to chosen hosts.
//
// # What a tenant ID is
//
// 1 to 128 bytes, [A-Za-z0-9][A-Za-z0-9._-]*, compared case-sensitively. Whatever else is refused with a fixed text;
// an ID that was refused is never echoed, logged or used as a label. IDs that begin with an underscore are the
// project's own: [AnonymousID] and the metrics' "__other__".
//
// # Where a tenant comes from
//
// From a credential that the caller cannot forge, and from nothing else. A header that names a tenant, or a host that
// does, was written by whoever sends the request. A credential that is present but bad is refused, never passed over.
//
// # Which tier applies
//
// An assignment ([Tiers.Assign]) wins over what was asserted of the tenant ([Tenant.Tier]), which wins over the
// default tier. Of several assertions the one with the latest [Tenant.TierAsOf] wins ([Assertion]), so that a token
// issued before an upgrade cannot undo it. A name that the catalogue does not have means the default tier: a plan
// that nobody configured is never unlimited.
package tenant
