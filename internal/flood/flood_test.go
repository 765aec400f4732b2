package flood_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/internal/flood"
	"github.com/tenantgate/tenantgate/tenant"
)

const ms = time.Millisecond

// between is a range of times, both ends included.
type between struct{ least, most time.Duration }

func exactly(d time.Duration) between { return between{d, d} }

func (b between) holds(d time.Duration) bool { return b.least <= d && d <= b.most }

// figures are the ranges that a report may be in.
type figures struct{ median, max, batch between }

func (f figures) hold(r flood.Report) bool {
	return f.median.holds(r.QuietMedian) && f.max.holds(r.QuietMax) && f.batch.holds(r.NoisyBatch)
}

// The scheduler orders what happens at one instant, differently in each run. The published rule lets it decide who gets
// up to two of the ten slots that end at 20 ms: of its runs about one in a hundred, on several cores, serves the quiet
// tenant as well as the bound. The other policies leave it nothing to decide.
func TestRun_FiguresInVirtualTime(t *testing.T) {
	const runs = 50
	want := map[string]struct{ always, mostly figures }{
		"shared FIFO": {always: figures{exactly(1010 * ms), exactly(1010 * ms), exactly(1000 * ms)}},
		"hard cap":    {always: figures{exactly(30 * ms), exactly(50 * ms), exactly(1680 * ms)}},
		"published rule": {
			always: figures{between{30 * ms, 50 * ms}, between{50 * ms, 70 * ms}, between{1020 * ms, 1040 * ms}},
			mostly: figures{between{40 * ms, 50 * ms}, exactly(70 * ms), between{1020 * ms, 1040 * ms}},
		},
		"fairslots": {always: figures{exactly(30 * ms), exactly(50 * ms), exactly(1020 * ms)}},
	}
	for _, policy := range flood.Policies {
		t.Run(policy.Name, func(t *testing.T) {
			want := want[policy.Name]
			others := 0
			for run := range runs {
				got := inVirtualTime(t, policy)
				if !want.always.hold(got) {
					t.Errorf("run %d: got %+v, want %+v", run, got, want.always)
				}
				if want.mostly != (figures{}) && !want.mostly.hold(got) {
					others++
				}
			}
			if others > runs/2 {
				t.Errorf("%d of %d runs were not within %+v", others, runs, want.mostly)
			}
		})
	}
}

func inVirtualTime(t *testing.T, policy flood.Policy) (report flood.Report) {
	synctest.Test(t, func(t *testing.T) {
		slots, err := policy.New(catalogue(t, flood.Share))
		if err != nil {
			t.Fatal(err)
		}
		if pool, ok := slots.(interface{ Close() }); ok {
			defer pool.Close()
		}
		report, err = flood.Run(t.Context(), func(ctx context.Context, id string) error {
			release, err := slots.Acquire(ctx, tenant.Tenant{ID: id})
			if err != nil {
				return err
			}
			defer release()
			time.Sleep(flood.Hold)
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if left := slots.Stats(); left.InUse != 0 || left.Waiting != 0 {
			t.Errorf("after the flood %d slots are in use and %d requests wait", left.InUse, left.Waiting)
		}
	})
	return report
}

// catalogue puts everybody on the same share.
func catalogue(t *testing.T, share int) *tenant.Tiers {
	t.Helper()
	tiers, err := tenant.NewTiers("standard", tenant.Tier{Name: "standard", Share: share})
	if err != nil {
		t.Fatal(err)
	}
	return tiers
}

func TestRun_FirstErrorEndsTheFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		start := time.Now()
		_, err := flood.Run(t.Context(), func(ctx context.Context, id string) error {
			if id == flood.Quiet.Tenant {
				return broken
			}
			<-ctx.Done() // without the cancellation the flood would hang here
			return ctx.Err()
		}, nil)
		if !errors.Is(err, broken) {
			t.Errorf("Run: got error %v, want %v", err, broken)
		}
		if took := time.Since(start); took != flood.Quiet.After {
			t.Errorf("Run took %v, want %v", took, flood.Quiet.After)
		}
	})
}

func TestRun_QuietBatchWaitsUntilTheNoisyOneArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		report, err := flood.Run(t.Context(), func(_ context.Context, id string) error {
			if after := time.Since(start); id == flood.Quiet.Tenant && after != 50*ms {
				t.Errorf("the quiet batch was sent after %v, want 50 ms: 10 ms and two holding times, the first that fits", after)
			}
			time.Sleep(flood.Hold)
			return nil
		}, func(context.Context) { time.Sleep(31 * ms) })
		if err != nil || report.QuietMedian != flood.Hold || report.NoisyBatch != flood.Hold {
			t.Errorf("got %+v and error %v, want %v for each", report, err, flood.Hold)
		}
	})
}

// The two policies that are no part of the product stand behind the gate like the others, so they keep its contract.
func TestPolicies_WaitersThatLeaveAndSecondReleases(t *testing.T) {
	acme, other := tenant.Tenant{ID: "acme"}, tenant.Tenant{ID: "other"}
	for _, policy := range flood.Policies {
		t.Run(policy.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slots, err := policy.New(catalogue(t, flood.Share))
				if err != nil {
					t.Fatal(err)
				}
				if pool, ok := slots.(interface{ Close() }); ok {
					defer pool.Close()
				}
				var releases []func()
				for i := range flood.Capacity {
					release, err := slots.Acquire(t.Context(), []tenant.Tenant{acme, other}[i%2])
					if err != nil {
						t.Fatal(err)
					}
					releases = append(releases, release)
				}

				cancelled, cancel := context.WithCancel(t.Context())
				time.AfterFunc(ms, cancel)
				if _, err := slots.Acquire(cancelled, acme); !errors.Is(err, context.Canceled) {
					t.Errorf("a cancelled waiter: got error %v, want context.Canceled", err)
				}
				expiring, cancel := context.WithTimeout(t.Context(), ms)
				defer cancel()
				_, err = slots.Acquire(expiring, acme)
				if refusal, ok := errors.AsType[*tenant.Refusal](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a waiter past its deadline: got error %v, want a refusal that matches the deadline", err)
				} else if refusal.Reason != tenant.ReasonCapacity {
					t.Errorf("a waiter past its deadline, below its share: got reason %q, want capacity", refusal.Reason)
				}

				releases[0]()
				releases[0]()
				if s := slots.Stats(); s.InUse != flood.Capacity-1 || s.Waiting != 0 {
					t.Errorf("after two calls of one release %d are in use and %d wait, want %d and 0",
						s.InUse, s.Waiting, flood.Capacity-1)
				}
				for _, release := range releases[1:] {
					release()
				}
			})
		})
	}
}

// The published rule leaves a slot idle while two tenants that are at their shares wait for each other. Once one of them
// gives up, the other must hear of it.
func TestPublished_WaiterThatLeavesFreesTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := flood.NewPublished(4, catalogue(t, 1))
		acquire := func(ctx context.Context, id string) func() {
			release, err := slots.Acquire(ctx, tenant.Tenant{ID: id})
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return func() {}
			}
			return release
		}
		var held []func()
		for _, id := range []string{"a", "a", "b", "b"} {
			held = append(held, acquire(t.Context(), id))
		}
		ctx, giveUp := context.WithCancel(t.Context())
		go acquire(ctx, "b")
		go func() { held = append(held, acquire(t.Context(), "a")) }()
		synctest.Wait()
		held[0]()
		synctest.Wait()
		if s := slots.Stats(); s.InUse != 3 || s.Waiting != 2 {
			t.Fatalf("%d in use and %d waiting, want 3 and 2: the rule's idle slot", s.InUse, s.Waiting)
		}
		giveUp()
		synctest.Wait()
		if s := slots.Stats(); s.InUse != 4 || s.Waiting != 0 {
			t.Errorf("once b gave up %d are in use and %d wait, want 4 and 0", s.InUse, s.Waiting)
		}
		for _, release := range held {
			release()
		}
		if s := slots.Stats(); s.InUse != 0 || len(s.Tenants) != 0 {
			t.Errorf("at the end %d are in use by %d tenants, want none", s.InUse, len(s.Tenants))
		}
	})
}
