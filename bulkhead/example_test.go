package bulkhead_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/tenant"
)

// exampleLanes returns ten slots for tenants that hold at most three of them, and one stream besides.
func exampleLanes() *bulkhead.Bulkhead {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Share: 3, Streams: 1})
	if err != nil {
		log.Fatal(err)
	}
	lanes, err := bulkhead.New(bulkhead.Config{Capacity: 10, Tiers: tiers})
	if err != nil {
		log.Fatal(err)
	}
	return lanes
}

func ExampleNew() {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Share: 2})
	if err != nil {
		log.Fatal(err)
	}
	lanes, err := bulkhead.New(bulkhead.Config{Capacity: 10, Tiers: tiers})
	if err != nil {
		log.Fatal(err)
	}
	defer lanes.Close()

	for range 3 {
		_, ok := lanes.TryAcquire(tenant.Tenant{ID: "acme"})
		fmt.Println(ok)
	}
	// Output:
	// true
	// true
	// false
}

// Work that takes as much as several requests takes their slots, but never more than the tenant's share.
func ExampleBulkhead_AcquireN() {
	lanes := exampleLanes()
	defer lanes.Close()

	for _, n := range []int{2, 5} {
		release, err := lanes.AcquireN(context.Background(), tenant.Tenant{ID: "acme"}, n)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(lanes.Stats().InUse)
		release()
	}
	// Output:
	// 2
	// 3
}

func ExampleBulkhead_AcquireStream() {
	lanes := exampleLanes()
	defer lanes.Close()

	end, err := lanes.AcquireStream(tenant.Tenant{ID: "acme"})
	if err != nil {
		log.Fatal(err)
	}
	defer end()
	fmt.Println(lanes.Stats().Streams, "stream and", lanes.Stats().InUse, "slots in use")
	_, err = lanes.AcquireStream(tenant.Tenant{ID: "acme"})
	fmt.Println(err)
	// Output:
	// 1 stream and 0 slots in use
	// tenant: refused: share
}
