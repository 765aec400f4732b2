package flood

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// Capacity is how many requests the service runs at once.
	Capacity = 10
	// Share is how many of them each tenant is sure of.
	Share = 6
	// Hold is how long a request runs.
	Hold = 20 * time.Millisecond
)

// Batch is a number of requests that a tenant submits at one instant.
type Batch struct {
	Tenant   string
	After    time.Duration // the noisy batch
	Requests int
}

// The batches that make up the flood.
var (
	Noisy = Batch{Tenant: "noisy", Requests: 500}
	Quiet = Batch{Tenant: "quiet", After: 10 * time.Millisecond, Requests: 10}
)

// Report is what a flood came to.
type Report struct {
	// QuietMedian and QuietMax are of the quiet tenant's requests: the time from submission to answer.
	QuietMedian, QuietMax time.Duration
	// NoisyBatch is the time from the noisy tenant's submission to its last answer.
	NoisyBatch time.Duration
}

// Run sends the flood, each request with a call of send from a goroutine of its own, and returns once all have returned.
// A request that fails makes a report worthless: Run then cancels the others and returns the first error.
//
// The quiet tenant has to come upon all of the noisy one's requests, when those that run are half through. A service may
// need longer to take them in: arrived returns once it has, and the quiet batch is due as many times [Hold] later as it
// takes. Nil: they are there at once.
func Run(
	ctx context.Context, send func(ctx context.Context, tenant string) error, arrived func(context.Context),
) (Report, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	submit := func(b Batch, due time.Time) []time.Duration {
		// Answers are timed from the instant at which the batch is due, not from when each request gets going: a sender
		// that falls behind must not make the service look better.
		time.Sleep(time.Until(due))
		took := make([]time.Duration, b.Requests)
		var requests sync.WaitGroup
		for i := range took {
			requests.Go(func() {
				if err := send(ctx, b.Tenant); err != nil {
					fail(fmt.Errorf("flood: %s: %w", b.Tenant, err))
				}
				took[i] = time.Since(due)
			})
		}
		requests.Wait()
		slices.Sort(took)
		return took
	}
	var noisy, quiet []time.Duration
	var batches sync.WaitGroup
	start := time.Now()
	batches.Go(func() { noisy = submit(Noisy, start) })
	batches.Go(func() {
		if arrived != nil {
			arrived(ctx)
		}
		due := start.Add(Quiet.After)
		for time.Until(due) < 0 {
			due = due.Add(Hold)
		}
		quiet = submit(Quiet, due)
	})
	batches.Wait()
	if err := context.Cause(ctx); err != nil {
		return Report{}, err
	}
	n := len(quiet)
	return Report{
		QuietMedian: (quiet[(n-1)/2] + quiet[n/2]) / 2,
		QuietMax:    quiet[n-1],
		NoisyBatch:  noisy[len(noisy)-1],
	}, nil
}
