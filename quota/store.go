package quota

import (
	"context"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Store keeps the state of every bucket and every calendar quota, and decides. Package quota has one in process; others
// share it between replicas. Implementations are held to the contract by package quotatest.
//
// A Store is used concurrently. It never blocks longer than its own timeout, and it answers what its failure policy
// says rather than an error where it has one: an error from Take makes the limiter refuse (tenant.ReasonUnavailable),
// unless the context ended.
//
// The store resolves the tier itself, at the moment it decides and under whatever makes that decision atomic, so that
// no request is judged by a plan that was replaced before it: see [Rules.ApplicableTier].
type Store interface {
	// Take decides each call, in order, and replaces its Result. Each is all or nothing: a call that is refused, and
	// one that only peeks, changes no limit, not even for a moment that another call sees. A tier that a call asserts is
	// remembered (tenant.Assertion.Merge) and settles the bucket where it is another than before, unless the call only
	// peeks; of a tenant that the store does not know, it need not be where the call takes nothing.
	// On an error the results mean nothing, and at most the units of the calls are lost: none is taken twice.
	Take(ctx context.Context, rules Rules, calls []Call) error
	// Refund gives back what charges took, each once: never more than a limit holds, and nothing to a window that has
	// ended. On an error at most the units are lost.
	Refund(ctx context.Context, rules Rules, charges []Charge) error
	// SetTier assigns tenant id a tier, and settles its bucket. Of two assignments the one with the later AsOf stays, of
	// two as old as each other the last. An empty tier takes the assignment back, and leaves nothing that an older one
	// could be held against. An assignment outlives the tenant's bucket. AsOf is by the caller's clock: across replicas
	// the later wins as far as their clocks agree.
	SetTier(ctx context.Context, rules Rules, id string, assigned tenant.Assertion) error
	// Settle brings the bucket of tenant id, or with an empty id every bucket the store has, to the tier that applies
	// now: refilled at the old rate up to now, then at the new one, the tokens kept but for what the new burst cannot
	// hold. A store that cannot visit every bucket remembers the instant, and settles each as of then when it next
	// touches it. A bucket that no Settle was told of is settled when it is next touched, as of that moment.
	Settle(ctx context.Context, rules Rules, id string) error
	// Reset makes the tenant's bucket full. Calendar usage and assignments stay.
	Reset(ctx context.Context, rules Rules, id string) error
	// Usage fills in the Tier and Spent of call's Result as a peek would. It goes by no failure policy: what the store
	// does not know is an error.
	Usage(ctx context.Context, rules Rules, call *Call) error
	// Close gives back what the store holds, unspent leases included. The limiter that was given a store does not
	// close it.
	Close() error
}

// Rules is what the limiter knows and a store does not. It may gain fields, as [Call], [Result] and [Charge] may: write
// them with the names of their fields.
type Rules struct {
	// Tiers is the catalogue, with the assignments in this process.
	Tiers *tenant.Tiers
	// Cluster is the bucket that all tenants share. The zero Rate: there is none.
	Cluster Rate
	// Reserve is the last fraction of Cluster's burst, less than 1, that serves only tenants whose own bucket is at least
	// half full: see the package comment. A lease never takes from it. 0: there is none.
	Reserve float64
	// Costs are what operations can cost, DefaultOperation included: distinct, ascending, and not to be changed. They
	// are for a store that has to divide a tier among replicas, and must not divide it below a cost that fits. Nil: not
	// known.
	Costs []int
	// Counted has the windows that some tier limits. A store counts all of them for every tenant, so that a change of
	// tier inside a window neither forgets nor invents usage, and those of the applied tier, which may be newer.
	Counted WindowSet
}

// Call is one request to a [Store] and its answer.
type Call struct {
	Tenant string
	// Asserted is the tier that the request says it is on.
	Asserted tenant.Assertion
	// Cost is 0 or more. A cost of 0 always passes.
	Cost int
	// Peek asks what the answer would be, and takes nothing.
	Peek bool
	// Ahead asks for a lease: up to so many units more, debited from every limit now, for the caller to spend by
	// itself. A store may grant any part, or none. The limiter asks for none: a store that leases from another does.
	Ahead int

	// Result is the answer. What it was before the call means nothing.
	Result Result
}

// Result is what a [Store] decided and found.
type Result struct {
	Allowed bool
	// Reason, Policy and RetryAfter say which limit refused and for how long: see [Decision].
	Reason     tenant.Reason
	Policy     string
	RetryAfter time.Duration
	// Tier is the tier that was applied.
	Tier tenant.Tier
	// Tokens are left in the tenant's bucket, Full is the time until it is full ([Never] where it will not be). Both
	// mean nothing where the tier is Unlimited.
	Tokens float64
	Full   time.Duration
	// Spent is the calendar usage after the decision. It means nothing where no window is counted.
	Spent Spent
	// Charge is what was taken, the lease not included.
	Charge Charge
	// Leased of the units asked for by Ahead were granted. What is unspent after LeaseFor is lost to the caller, and
	// before that can be given back: as Charge, with so many Units. LeaseFor ends before any window does that was
	// charged.
	Leased   int
	LeaseFor time.Duration
}

// Charge is what a decision took, in the form in which it can be given back.
type Charge struct {
	Tenant string
	// Units were taken from each. With 0 or fewer there is nothing to give back.
	Units int
	// Bucket and Cluster say whether the units were taken from the tenant's and from the cluster's bucket.
	Bucket, Cluster bool
	// Counted has the windows that were charged, and Windows the start of each, in Unix seconds.
	Counted WindowSet
	Windows [Windows]int64
	// Tag is the store's own: what it needs to know when the charge comes back.
	Tag int
}

// Spent is a tenant's calendar usage at an instant of the store's clock.
type Spent struct {
	At time.Time
	// Units were spent in each window that holds At.
	Units [Windows]int64
}

// ApplicableTier returns the tier of a tenant at the moment it is called: of the assignment in this process and the
// one in the store the later, else the latest assertion, else the default. A store calls it where it decides, or does
// the same there in its own language.
func (r Rules) ApplicableTier(id string, assigned, asserted tenant.Assertion) tenant.Tier {
	return r.Tiers.Named(r.applicableName(id, &assigned, &asserted))
}

// applicableName returns the tier's name, which the catalogue may not have.
func (r *Rules) applicableName(id string, assigned, asserted *tenant.Assertion) string {
	local, ok := r.Tiers.Assigned(id)
	switch {
	case ok && (assigned.Tier == "" || !local.AsOf.Before(assigned.AsOf)):
		return local.Tier
	case assigned.Tier != "":
		return assigned.Tier
	default:
		return asserted.Tier
	}
}
