package bulkhead_test

import (
	"fmt"
	"log"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/tenant"
)

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
