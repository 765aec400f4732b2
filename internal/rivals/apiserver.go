package main

import (
	"context"
	"hash/maphash"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// newTenantQueues gives each tenant a queue of its own, which no API server does: with a hand of one the hash is the
// queue's number.
func newTenantQueues(tenants int) run {
	return newQueues(max(tenants, 2), 1, func(c *caller) uint64 { return uint64(c.number) })
}

// newShuffledQueues has the defaults of the API server: tenants share queues.
func newShuffledQueues(int) run {
	seed := maphash.MakeSeed()
	return newQueues(64, 8, func(c *caller) uint64 { return maphash.String(seed, c.tenant.ID) })
}

func newQueues(queues, hand int, hash func(*caller) uint64) run {
	completer := must(queueset.NewQueueSetFactory(eventclock.Real{}).BeginConstruction(
		fq.QueuingConfig{Name: "rival", DesiredNumQueues: queues, QueueLengthLimit: unbounded, HandSize: hand},
		metrics.RatioedGaugePair{RequestsWaiting: noGauge{}, RequestsExecuting: noGauge{}}, noGauge{}, noGauge{},
	))
	slots := completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: capacity, ConcurrencyDenominator: capacity})
	width := &request.WorkEstimate{InitialSeats: 1}
	return func(ctx context.Context, c *caller, work func()) error {
		r, _ := slots.StartRequest(ctx, width, hash(c), "", "", "", "", nil)
		if r == nil {
			return context.Cause(ctx)
		}
		ran := false
		r.Finish(func() {
			ran = true
			work()
		})
		if !ran {
			return context.Cause(ctx)
		}
		return nil
	}
}

// noGauge spares the queues their metrics.
type noGauge struct{}

func (noGauge) Set(float64)            {}
func (noGauge) Inc()                   {}
func (noGauge) Dec()                   {}
func (noGauge) Add(float64)            {}
func (noGauge) SetToCurrentTime()      {}
func (noGauge) SetDenominator(float64) {}
