package middleware

import (
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Result says how a request fared in the gate. It is the label "outcome" of the metrics.
type Result string

// The results.
const (
	Admitted        Result = "admitted"        // reached the handler, whatever that answered
	Refused         Result = "refused"         // turned away; [Outcome.Reason] says by what
	Cancelled       Result = "cancelled"       // the client left while it waited
	Skipped         Result = "skipped"         // exempt
	Unauthenticated Result = "unauthenticated" // no credential or a bad one: 401, 400
	Forbidden       Result = "forbidden"       // a good credential that names no usable tenant: 403
	Failed          Result = "failed"          // the service's own fault: 500, or a panic before the handler
)

// Outcome is how a request went, for [Config.Observe].
type Outcome struct {
	// Tenant is who asked, with the tier that was applied. Zero where that was not found out.
	Tenant tenant.Tenant
	// Operation is what quota judged, or Config.Weights were looked up for. Empty where neither was.
	Operation string
	// Decision is quota's, brought up to date if it was refunded. Zero where quota did not judge.
	Decision quota.Decision
	// Wait is how long the request waited for its slot, in vain or not.
	Wait time.Duration

	Result Result
	// Reason says what refused the request; tenant.ReasonNone if nothing did. A resolver that is down refuses with
	// tenant.ReasonUnavailable.
	Reason tenant.Reason
	// Status is what the gate answered. 0: the handler did, be it by [Refuse], or Config.Refuse, or nobody.
	Status int
	// Err is why: the resolver's error, a *tenant.Refusal, what [Refuse] was told, and what else went wrong, joined. The
	// client does not see it.
	Err error
	// Panicked is set where the handler, or a function of Config, panicked.
	Panicked bool
}
