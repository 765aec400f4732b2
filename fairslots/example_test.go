package fairslots_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/tenant"
)

func ExampleNew() {
	tiers, err := tenant.NewTiers("free",
		tenant.Tier{Name: "free", Share: 2},
		tenant.Tier{Name: "pro", Share: 6, Ceiling: 8},
	)
	if err != nil {
		log.Fatal(err)
	}
	slots, err := fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers, MaxWait: 2 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer slots.Close()

	release, err := slots.Acquire(context.Background(), tenant.Tenant{ID: "acme", Tier: "pro"})
	if err != nil {
		log.Fatal(err)
	}
	defer release()
	fmt.Println(slots.Stats().InUse, "of", slots.Stats().Capacity)
	// Output: 1 of 10
}

func ExamplePool_Acquire_refused() {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Share: 1})
	if err != nil {
		log.Fatal(err)
	}
	slots, err := fairslots.New(fairslots.Config{Capacity: 1, Tiers: tiers, MaxQueue: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer slots.Close()
	release, err := slots.Acquire(context.Background(), tenant.Tenant{ID: "flooder"})
	if err != nil {
		log.Fatal(err)
	}
	defer release()

	for _, id := range []string{"flooder", "quiet"} {
		_, err := slots.Acquire(context.Background(), tenant.Tenant{ID: id})
		var refused *tenant.Refusal
		if errors.As(err, &refused) {
			fmt.Println(id, "is refused for", refused.Reason)
		}
	}
	// Output:
	// flooder is refused for share
	// quiet is refused for capacity
}
