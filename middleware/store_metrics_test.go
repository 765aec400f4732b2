package middleware_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
)

// sharedStore is a store that says what one that replicas share would.
type sharedStore struct {
	*quota.Memory
	stats quota.StoreStats
}

func (s *sharedStore) Stats() quota.StoreStats { return s.stats }

func TestMetrics_SayHowAStoreThatReplicasShareIsDoing(t *testing.T) {
	store := &sharedStore{quota.NewMemory(nil), quota.StoreStats{
		Shared: true, Changes: 2, Decisions: 100, Alone: 7, Leased: 30, Calls: 9, Failures: 3, InDoubt: 4, Overrun: 5,
	}}
	g := newGate(t, middleware.Config{Resolver: named, Quota: newLimiter(t, quota.Config{Store: store})})
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"shared", nil, 1},
		{"changes_total", nil, 2},
		{"decisions_total", []string{"by", "server"}, 63},
		{"decisions_total", []string{"by", "lease"}, 30},
		{"decisions_total", []string{"by", "alone"}, 7},
		{"calls_total", nil, 9},
		{"call_failures_total", nil, 3},
		{"in_doubt_total", nil, 4},
		{"overrun_units_total", nil, 5},
	} {
		if got := value(t, g, "tenantgate_store_"+want.name, want.labels...); got != want.value {
			t.Errorf("%s %v is %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	store.stats.Shared = false
	if got := value(t, g, "tenantgate_store_shared"); got != 0 {
		t.Errorf("shared is %v while decisions are made alone, want 0", got)
	}
}
