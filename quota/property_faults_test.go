package quota_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/quota"
)

// Each property is worth what it catches: here every one meets faults, and must fail.
func TestProperties_CatchFaults(t *testing.T) {
	for flagName, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s", "rapid.seed": "1"} {
		before := flag.Lookup(flagName).Value.String()
		must(t, flag.Set(flagName, value))
		t.Cleanup(func() { must(t, flag.Set(flagName, before)) })
	}
	faulty := func(f fault) func(quota.Store) quota.Store {
		return func(s quota.Store) quota.Store { f.Store = s; return &f }
	}
	for _, tt := range []struct {
		name     string
		property func(*rapid.T)
	}{
		{"a nanosecond early", decidesAsTheModel(faulty(fault{early: 1}))},
		{"a nanosecond late", decidesAsTheModel(faulty(fault{early: -1}))},
		{"charges on refusal", decidesAsTheModel(faulty(fault{chargeRefusals: true}))},
		{"charges peeks", decidesAsTheModel(faulty(fault{chargePeeks: true}))},
		{"refunds nothing", decidesAsTheModel(faulty(fault{refunds: 0, changeRefunds: true}))},
		{"refunds twice", decidesAsTheModel(faulty(fault{refunds: 2, changeRefunds: true}))},
		{"does not settle", decidesAsTheModel(faulty(fault{neverSettle: true}))},
		{"serves anybody from the reserve", decidesAsTheModel(faulty(fault{noReserve: true}))},
		{"hands out a burst now and then", decidesAsTheModel(faulty(fault{resetEvery: 5}))},
		{"forgets what is not full", cannotBeNoticed((*quota.Memory).Forget)},
		{"hands out a burst in between", noIntervalAdmitsMore(faulty(fault{resetEvery: 5}))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			watched := &watcher{T: t}
			done := make(chan struct{})
			go func() { // rapid ends the goroutine of a test that failed
				defer close(done)
				rapid.Check(watched, tt.property)
			}()
			<-done
			if !watched.failed {
				t.Error("the property holds in spite of the fault")
			}
		})
	}
}

// watcher notes failures instead of failing.
type watcher struct {
	*testing.T
	failed bool
}

func (w *watcher) Logf(string, ...any)   {}
func (w *watcher) Errorf(string, ...any) { w.failed = true }
func (w *watcher) Fatalf(string, ...any) { w.failed = true }
func (w *watcher) FailNow()              { w.failed = true }
func (w *watcher) Fail()                 { w.failed = true }
func (w *watcher) Failed() bool          { return w.failed }

// fault is a store with faults.
type fault struct {
	quota.Store
	early          time.Duration
	chargeRefusals bool
	chargePeeks    bool
	changeRefunds  bool
	refunds        int // with changeRefunds: how often
	neverSettle    bool
	noReserve      bool
	resetEvery     int // takes; 0: never
	takes          int
}

func (f *fault) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	for i := range calls {
		c := &calls[i]
		if f.takes++; f.resetEvery > 0 && f.takes%f.resetEvery == 0 {
			_ = f.Reset(ctx, rules, c.Tenant)
		}
		c.Peek = c.Peek && !f.chargePeeks
		if f.noReserve {
			rules.Reserve = 0
		}
		if err := f.Store.Take(ctx, rules, calls[i:i+1]); err != nil {
			return err
		}
		if r := &c.Result; r.RetryAfter > 0 && r.RetryAfter != quota.Never {
			r.RetryAfter -= f.early
		}
		if f.chargeRefusals && !c.Result.Allowed && !c.Peek {
			fine := []quota.Call{{Tenant: c.Tenant, Asserted: c.Asserted, Cost: 1}}
			if err := f.Store.Take(ctx, rules, fine); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fault) Refund(ctx context.Context, rules quota.Rules, charges []quota.Charge) error {
	times := 1
	if f.changeRefunds {
		times = f.refunds
	}
	for range times {
		if err := f.Store.Refund(ctx, rules, charges); err != nil {
			return err
		}
	}
	return nil
}

func (f *fault) Settle(ctx context.Context, rules quota.Rules, id string) error {
	if f.neverSettle {
		return nil
	}
	return f.Store.Settle(ctx, rules, id)
}
