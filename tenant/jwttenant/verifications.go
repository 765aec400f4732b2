package jwttenant

import (
	"context"
	"fmt"
	"sync/atomic"
)

// verifications bounds how many tokens are verified at one time, and how many requests wait for that.
type verifications struct {
	running chan struct{}
	waiting atomic.Int64
	most    int64 // of waiting
}

// waitersEach is how many requests may wait for each verification at one time. At 0.1 ms each that takes 0.1 s, and 0.5 s
// where all of them are made to take as long as can be.
const waitersEach = 1000

func newVerifications(atOnce int) *verifications {
	return &verifications{running: make(chan struct{}, atOnce), most: int64(atOnce) * waitersEach}
}

// begin returns nil once there is room for one more verification. Call end then.
func (v *verifications) begin(ctx context.Context) error {
	select {
	case v.running <- struct{}{}:
		return nil
	default:
	}
	defer v.waiting.Add(-1)
	if v.waiting.Add(1) > v.most {
		return errBusy
	}
	select {
	case v.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the request ended while it waited: %w", errBusy, ctx.Err())
	}
}

func (v *verifications) end() { <-v.running }
