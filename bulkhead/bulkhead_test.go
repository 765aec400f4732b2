package bulkhead_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newBulkhead(t *testing.T, cfg bulkhead.Config) *bulkhead.Bulkhead {
	t.Helper()
	tiers, err := tenant.NewTiers("std", tenant.Tier{Name: "std", Share: 2, Ceiling: 5})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tiers = tiers
	b, err := bulkhead.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// refusedFor is the reason of a refusal, and how long it took.
func refusedFor(t *testing.T, b *bulkhead.Bulkhead, id string) (tenant.Reason, time.Duration) {
	t.Helper()
	start := time.Now()
	_, err := b.Acquire(t.Context(), tenant.Tenant{ID: id})
	var r *tenant.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("Acquire(%s) = %v, want a refusal", id, err)
	}
	return r.Reason, time.Since(start)
}

func TestBulkhead_CapsATenantAtItsShareWhateverIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(t, bulkhead.Config{Capacity: 3, MaxWait: time.Second})
		for _, tt := range []struct {
			id   string
			want bool
		}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", false}} {
			if _, ok := b.TryAcquire(tenant.Tenant{ID: tt.id}); ok != tt.want {
				t.Fatalf("%s gets a slot: %v, want %v", tt.id, ok, tt.want)
			}
		}
		if reason, after := refusedFor(t, b, "a"); reason != tenant.ReasonShare || after != time.Second {
			t.Errorf("a, at its share, is refused as %s after %v, want share after 1s", reason, after)
		}
		if reason, after := refusedFor(t, b, "b"); reason != tenant.ReasonCapacity || after != time.Second {
			t.Errorf("b, below its share, is refused as %s after %v, want capacity after 1s", reason, after)
		}
	})
}

func TestBulkhead_BoundsItsQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(t, bulkhead.Config{Capacity: 1, MaxQueue: 1, MaxWaiting: 3, MaxWait: -1})
		release, _ := b.TryAcquire(tenant.Tenant{ID: "a"})
		ctx, cancel := context.WithCancel(t.Context())
		for _, id := range []string{"a", "b", "c"} {
			go func() { _, _ = b.Acquire(ctx, tenant.Tenant{ID: id}) }()
		}
		synctest.Wait()
		if reason, after := refusedFor(t, b, "b"); reason != tenant.ReasonShare || after != 0 {
			t.Errorf("beyond MaxQueue: refused as %s after %v, want share at once", reason, after)
		}
		if reason, after := refusedFor(t, b, "d"); reason != tenant.ReasonCapacity || after != 0 {
			t.Errorf("beyond MaxWaiting: refused as %s after %v, want capacity at once", reason, after)
		}
		cancel()
		synctest.Wait()
		release()
	})
}

func TestNew_NamesWhatIsWrong(t *testing.T) {
	_, err := bulkhead.New(bulkhead.Config{})
	for _, want := range []string{"bulkhead: Capacity is 0", "bulkhead: Tiers is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to contain %q", err, want)
		}
	}
}
