package slots_test

import (
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestPool_GivesBackTheMemoryOfIdleTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tenants = 200_000
		p := newPool(t, slots.Settings{Capacity: 10})
		before := heapInUse()
		for i := range tenants {
			release, ok := p.TryAcquire(tenant.Tenant{ID: "t" + strconv.Itoa(i)})
			if !ok {
				t.Fatal("no slot")
			}
			release()
		}
		if n := len(p.Stats().Tenants); n != tenants {
			t.Fatalf("%d tenants are remembered, want %d", n, tenants)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if n := len(p.Stats().Tenants); n != 0 {
			t.Errorf("%d tenants are remembered after ten idle seconds", n)
		}
		if after := heapInUse(); after > before+tenants { // less than a byte a tenant
			t.Errorf("heap: %d KiB before %d tenants, %d after they were idle for ten seconds", before>>10, tenants, after>>10)
		}
	})
}

func TestPool_GivesBackTheMemoryOfAPeak(t *testing.T) {
	const peak = 100_000
	p := newPool(t, slots.Settings{Capacity: peak})
	before := heapInUse()
	func() {
		held := make([]func(), peak)
		for i := range held {
			held[i] = acquire(t, p, "a")
		}
		for _, release := range held {
			release()
		}
	}()
	if after := heapInUse(); after > before+1<<20 {
		t.Errorf("heap: %d KiB before %d slots were held at once, %d after they were released", before>>10, peak, after>>10)
	}
}

func TestPool_FailedTryAcquireAllocatesNothing(t *testing.T) {
	p := newPool(t, slots.Settings{Capacity: 1})
	defer acquire(t, p, "a")()
	if n := testing.AllocsPerRun(100, func() { p.TryAcquire(tenant.Tenant{ID: "b"}) }); n > 0 {
		t.Errorf("TryAcquire of a full pool allocates %v times", n)
	}
}
