package fairslots_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestNew_NamesWhatIsWrong(t *testing.T) {
	_, err := fairslots.New(fairslots.Config{})
	for _, want := range []string{"fairslots: Capacity is 0", "fairslots: Tiers is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to contain %q", err, want)
		}
	}
}

func TestPool_BoundsQueuesAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers, err := tenant.NewTiers("std", tenant.Tier{Name: "std", Share: 1})
		if err != nil {
			t.Fatal(err)
		}
		p, err := fairslots.New(fairslots.Config{Capacity: 1, Tiers: tiers, MaxQueue: 1, MaxWaiting: 3, MaxWait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		release, _ := p.TryAcquire(tenant.Tenant{ID: "a"})
		defer release()
		start := time.Now()
		refused := func(ctx context.Context, id string, want tenant.Reason, after time.Duration) {
			_, err := p.Acquire(ctx, tenant.Tenant{ID: id})
			var r *tenant.Refusal
			if !errors.As(err, &r) || r.Reason != want || time.Since(start) != after {
				t.Errorf("%s got %v after %v, want a refusal for %s after %v", id, err, time.Since(start), want, after)
			}
		}
		for id, want := range map[string]tenant.Reason{
			"a": tenant.ReasonShare, "b": tenant.ReasonCapacity, "c": tenant.ReasonCapacity,
		} {
			go refused(t.Context(), id, want, time.Second)
		}
		synctest.Wait()
		refused(t.Context(), "b", tenant.ReasonShare, 0)    // beyond MaxQueue
		refused(t.Context(), "d", tenant.ReasonCapacity, 0) // beyond MaxWaiting
		time.Sleep(time.Second)
		synctest.Wait()
	})
}
