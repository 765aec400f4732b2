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

// An export takes as much of the database as three other requests.
func ExamplePool_AcquireN() {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Share: 2})
	if err != nil {
		log.Fatal(err)
	}
	slots, err := fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers})
	if err != nil {
		log.Fatal(err)
	}
	defer slots.Close()

	release, err := slots.AcquireN(context.Background(), tenant.Tenant{ID: "acme"}, 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(slots.Stats().InUse, "of", slots.Stats().Capacity)
	release()
	fmt.Println(slots.Stats().InUse, "of", slots.Stats().Capacity)
	// Output:
	// 3 of 10
	// 0 of 10
}

// A feed that takes next to nothing holds no slot, and yet a tenant may not have any number of them.
func ExamplePool_AcquireStream() {
	tiers, err := tenant.NewTiers("free", tenant.Tier{Name: "free", Share: 2, Streams: 1})
	if err != nil {
		log.Fatal(err)
	}
	slots, err := fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers})
	if err != nil {
		log.Fatal(err)
	}
	defer slots.Close()

	end, err := slots.AcquireStream(tenant.Tenant{ID: "acme"})
	if err != nil {
		log.Fatal(err)
	}
	defer end()
	fmt.Println(slots.Stats().Streams, "stream and", slots.Stats().InUse, "slots in use")
	_, err = slots.AcquireStream(tenant.Tenant{ID: "acme"})
	fmt.Println(err)
	// Output:
	// 1 stream and 0 slots in use
	// tenant: refused: share
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
