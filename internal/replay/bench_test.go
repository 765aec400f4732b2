package replay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
	"github.com/tenantgate/tenantgate/tenant"
)

// BenchmarkRun replays one request of a trace of 1,000 tenants that keeps most slots busy.
func BenchmarkRun(b *testing.B) {
	tiers := tiersOf(b, tenant.Tier{Name: "std", Share: 3})
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprint("t", i)
	}
	for _, policy := range replay.Policies() {
		b.Run(policy.String(), func(b *testing.B) {
			r, err := replay.New(replay.Config{Policy: policy, Capacity: 10, Tiers: tiers})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				q := replay.Request{
					At: time.Duration(n) * 2100 * time.Microsecond, Tenant: ids[n*n%1000%(1+n%997)], Duration: time.Duration(10+n%20) * ms,
				}
				if err := r.Add(q); err != nil {
					b.Fatal(err)
				}
			}
			r.Finish()
		})
	}
}
