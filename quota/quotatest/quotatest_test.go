package quotatest

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
)

func TestRun_PassesTheStoreInProcess(t *testing.T) {
	clock := newClock()
	Run(t, Config{
		New:     func(testing.TB) quota.Store { return quota.NewMemory(clock.Now) },
		Advance: clock.Advance,
	})
}

func TestRun_AllowsForAClockThatMovesByItself(t *testing.T) {
	clock := newClock()
	now := func() time.Time {
		clock.Advance(50 * time.Microsecond)
		return clock.Now()
	}
	Run(t, Config{
		New:     func(testing.TB) quota.Store { return quota.NewMemory(now) },
		Advance: clock.Advance,
		Drift:   100 * time.Millisecond,
	})
}

// The suite is worth nothing unless it can fail.
func TestRun_CatchesFaultyStores(t *testing.T) {
	for _, fault := range []struct {
		name  string
		wrap  func(quota.Store) quota.Store
		catch string // the promise that it must break
	}{
		{"none", func(s quota.Store) quota.Store { return s }, ""},
		{"charges the tenant on refusal", func(s quota.Store) quota.Store { return chargesOnRefusal{s, quota.Rate{}} },
			"what the cluster's bucket refuses is taken from no limit"},
		{"charges the cluster on refusal",
			func(s quota.Store) quota.Store { return chargesOnRefusal{s, quota.Rate{PerSecond: slow, Burst: 10}} },
			"what the tenant's bucket refuses is taken from no limit"},
		{"debits first and refunds on refusal", func(s quota.Store) quota.Store { return debitsFirst{s} },
			"a refusal is never seen as a debit by another"},
		{"charges a peek", func(s quota.Store) quota.Store { return chargesPeeks{s} },
			"a peek answers as a take would, and takes nothing"},
		{"refunds twice", func(s quota.Store) quota.Store { return refundsTwice{s} },
			"a refund gives back what was taken, to every limit, once"},
		{"refunds to the window that is", func(s quota.Store) quota.Store { return refundsAnyWindow{s} },
			"a window that has ended gets nothing back"},
		{"loses a window", func(s quota.Store) quota.Store { return losesWindow{s} },
			"every counted window counts what was admitted, to the unit, for every tier"},
		{"counts only what the tier limits", func(s quota.Store) quota.Store { return countsOwnOnly{s} },
			"every counted window counts what was admitted, to the unit, for every tier"},
		{"forgets a half-spent bucket", func(s quota.Store) quota.Store { return &forgets{Store: s} },
			"a bucket that is not full is remembered, whatever else goes on"},
		{"hands out a burst on upgrade", func(s quota.Store) quota.Store { return handsOutBurst{s} },
			"an upgrade hands out no burst, by whatever way it comes"},
		{"lets the older assignment win", func(s quota.Store) quota.Store { return &lastAssignmentWins{s} },
			"of two assignments the later stays"},
		{"rounds waits down", func(s quota.Store) quota.Store { return roundsDown{s} },
			"a wait is the time until the bucket holds the cost, and is honoured"},
		{"forgets to settle", func(s quota.Store) quota.Store { return neverSettles{s} },
			"a tier that is defined anew settles every bucket on it"},
		{"leases for nothing", func(s quota.Store) quota.Store { return leasesForNothing{s} },
			"a lease is no more than each limit holds beside the cost"},
		{"leases the reserve", func(s quota.Store) quota.Store { return leasesReserve{s} },
			"a lease takes nothing from the reserve"},
		{"serves anybody from the reserve", func(s quota.Store) quota.Store { return ignoresReserve{s} },
			"the reserve serves only tenants whose bucket is at least half full"},
		{"serves nobody from the reserve", func(s quota.Store) quota.Store { return hoardsReserve{s} },
			"the reserve serves only tenants whose bucket is at least half full"},
		{"serves the unlimited from the reserve", func(s quota.Store) quota.Store { return trustsUnlimited{s} },
			"an unlimited tier is never served by the reserve"},
		{"forgets that a bucket gets half full", func(s quota.Store) quota.Store { return waitsForTheLine{s} },
			"a wait at the reserve is honoured, whichever comes first"},
		{"decides without a lock", func(s quota.Store) quota.Store { return checksThenTakes{s} },
			"of many at once exactly the burst passes"},
		{"keeps an old result", func(s quota.Store) quota.Store { return keepsResult{s} },
			"a result replaces what was in the call"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			clock := newClock()
			cfg := Config{
				New:     func(testing.TB) quota.Store { return fault.wrap(quota.NewMemory(clock.Now)) },
				Advance: clock.Advance,
			}
			for _, p := range promises() {
				switch {
				case fault.catch == "":
					if breaks(t, p, cfg) {
						t.Errorf("a store without fault breaks %q", p.name)
					}
				case fault.catch == p.name:
					tries := 100 // a race may go well for once
					for !breaks(t, p, cfg) {
						if tries--; tries == 0 {
							t.Fatalf("does not break %q", p.name)
						}
					}
					return
				}
			}
			if fault.catch != "" {
				t.Fatalf("there is no promise %q", fault.catch)
			}
		})
	}
}

// breaks reports whether the store breaks the promise.
func breaks(t *testing.T, p promise, cfg Config) bool {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.cleanUp()
		p.test(newHarness(r, cfg))
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// recorder notes failures instead of failing.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	cleanups []func()
}

func (r *recorder) fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Error(...any)          { r.fail() }
func (r *recorder) Errorf(string, ...any) { r.fail() }
func (r *recorder) Fatal(...any)          { r.fail(); runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) { r.fail(); runtime.Goexit() }
func (r *recorder) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }

func (r *recorder) cleanUp() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

// clock is a clock that moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 30, 23, 59, 58, 500_000_000, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
