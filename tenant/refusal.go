package tenant

import "time"

// Reason says which limit refused a request. It is the one vocabulary of responses, metrics, hooks and errors.
type Reason string

// The reasons, in the order in which a request meets them.
const (
	ReasonNone        Reason = ""            // not refused
	ReasonPlan        Reason = "plan"        // costs more than the tier ever allows: waiting cannot help
	ReasonTenant      Reason = "tenant"      // the tenant's bucket is short
	ReasonWindow      Reason = "window"      // a calendar quota is used up
	ReasonGlobal      Reason = "global"      // the bucket that all tenants share is short
	ReasonUnavailable Reason = "unavailable" // the shared store is down, and the limiter fails closed
	ReasonShare       Reason = "share"       // the tenant's own lane is full, or it waited too long at its own share
	ReasonCapacity    Reason = "capacity"    // the service is full, or the tenant waited too long below its share
	ReasonClosing     Reason = "closing"     // the service is draining or closed
)

// Refusal is the error of a request that was turned away. Its text is fixed and names nobody.
type Refusal struct {
	Reason Reason
	// Tier is the tier that was applied.
	Tier string
	// Policy names the limit that spoke: a tier, "cluster", or a calendar window such as "day".
	Policy string
	// RetryAfter is how long to wait before another try. 0: unknown, or waiting cannot help.
	RetryAfter time.Duration
	// Cause is an error that the refusal matches too: context.DeadlineExceeded where the request's deadline was what
	// bounded its wait. Nil: none.
	Cause error
}

// Error returns "tenant: refused: " and the reason.
func (r *Refusal) Error() string { return "tenant: refused: " + string(r.Reason) }

// Unwrap returns Cause.
func (r *Refusal) Unwrap() error { return r.Cause }
