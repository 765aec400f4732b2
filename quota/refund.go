package quota

import (
	"context"
	"errors"
)

// ErrForeignDecision is returned for a refund of a decision that another limiter made.
var ErrForeignDecision = errors.New("quota: refund of another limiter's decision")

// Refund gives back what d took, to the tenant's bucket, to the cluster's and to the calendar windows that were
// charged: never more than the bucket has room for, and nothing to a window that has ended. It brings Remaining, Reset
// and QuotaRemaining of d to what they are without what it took.
//
// It empties d, so that a second Refund does nothing, also where the store failed: then the units are lost, and never
// given back twice. So refund the original and not a copy, from one goroutine. A refusal, a Peek and the zero Decision
// took nothing, and refunding one does nothing. ctx should be one that the client cannot cancel: see
// [context.WithoutCancel].
func (l *Limiter) Refund(ctx context.Context, d *Decision) error {
	return l.refund(ctx, d, d.charge, Charge{})
}

// RefundQuotas is Refund for the calendar quotas only: what d took from the buckets stays taken, and can be refunded
// later.
func (l *Limiter) RefundQuotas(ctx context.Context, d *Decision) error {
	back, stays := d.charge, d.charge
	back.Bucket, back.Cluster = false, false
	stays.Counted, stays.Windows = 0, [Windows]int64{}
	return l.refund(ctx, d, back, stays)
}

// refund gives back one part of d's charge; the other stays.
func (l *Limiter) refund(ctx context.Context, d *Decision, back, stays Charge) error {
	if back.Units == 0 || !back.Bucket && !back.Cluster && back.Counted == 0 {
		return nil
	}
	if d.by != l {
		return ErrForeignDecision
	}
	d.charge = stays
	if err := l.store.Refund(ctx, l.rules(), []Charge{back}); err != nil {
		return err
	}
	d.regain(&back)
	return nil
}
