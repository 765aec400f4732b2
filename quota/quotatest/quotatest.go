// Package quotatest is the contract of [quota.Store] as a test suite: call [Run] from a test of the store.
//
//	func TestStore(t *testing.T) {
//		clock := newClock() // of your own: Now and Advance
//		quotatest.Run(t, quotatest.Config{
//			New:     func(t testing.TB) quota.Store { return mystore.New(clock.Now) },
//			Advance: clock.Advance,
//		})
//	}
//
// A store whose clock cannot be set, for example a server's, is run with time.Sleep for Advance and a [Config.Drift].
// It is better to give such a store an offset to its clock that a test can move: then the suite never waits, and every
// window is tested.
//
// What the suite holds a store to is what package quota promises its users: decisions are all or nothing, waits are
// honoured, calendar usage is exact, refunds give back no more than was taken, changes of tier hand out nothing, leases
// count against every limit from the moment they are granted, the cluster's reserve serves quiet tenants only, and all
// this under concurrency. Failure policies of shared stores are not part of it.
package quotatest

import (
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
)

// Config tells [Run] how to make a store and how to move its clock.
type Config struct {
	// New returns a new store that knows no tenant; it may be called several times in a test. The suite closes it.
	// Required.
	New func(t testing.TB) quota.Store
	// Advance moves the clock of every store that New made by d, which is above 0; time.Sleep where the clock is the
	// machine's. Required.
	Advance func(d time.Duration)
	// Drift is how far the clock may move by itself while a test runs. 0: it stands still between calls of Advance. A
	// second or so for a real clock; the suite then allows for it, and tests the end of a window on seconds only.
	Drift time.Duration
}

// Run holds the store to the contract, one subtest for each promise.
func Run(t *testing.T, cfg Config) {
	for _, p := range promises() {
		t.Run(p.name, func(t *testing.T) { p.test(newHarness(t, cfg)) })
	}
}

// promise is one sentence of the contract.
type promise struct {
	name string
	test func(h *harness)
}

func promises() []promise {
	var all []promise
	for _, part := range [][]promise{taking, waiting, windows, refunding, tiers, leasing, reserving, racing} {
		all = append(all, part...)
	}
	return all
}
