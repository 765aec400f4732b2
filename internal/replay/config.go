package replay

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

const (
	defaultTop   = 10
	defaultSteps = 240
	// tracks is how many tenants a series has by name.
	tracks = 8
	// everybody is the one tenant of a policy without tenants.
	everybody = "everybody"
	// latest bounds the times of a trace, so that sums of them do not overflow.
	latest = 100 * 365 * 24 * time.Hour
)

// midnight is when every trace starts, for its calendar quotas.
var midnight = time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)

// Config configures a [Run].
type Config struct {
	Policy   Policy
	Capacity int
	// Tiers is required. Each tier needs a Share, and a Burst unless its Rate is tenant.Unlimited.
	Tiers *tenant.Tiers
	// Costs and Global are the limiter's, as in [quota.Config].
	Costs  quota.Costs
	Global quota.Rate
	// MaxQueue, MaxWaiting and MaxWait are the pool's: 0 a default (100, 1000, 5 s), negative nobody may wait, or for
	// however long. The policy of one queue for all has no MaxQueue.
	MaxQueue, MaxWaiting int
	MaxWait              time.Duration
	// Top is how many tenants are reported by name. 0: 10.
	Top int
	// Steps is how many steps a series has at most. 0: 240.
	Steps int
}

func (c *Config) check() error {
	var errs []error
	if int(c.Policy) >= len(policyNames) {
		errs = append(errs, fmt.Errorf("replay: Policy is %v, want one of %v", c.Policy, Policies()))
	}
	if c.Capacity < 1 || c.Capacity > slots.MaxCapacity {
		errs = append(errs, fmt.Errorf("replay: Capacity is %d, want 1 to %d", c.Capacity, slots.MaxCapacity))
	}
	if c.Tiers == nil {
		errs = append(errs, errors.New("replay: Tiers is nil, want a catalogue from tenant.NewTiers"))
	} else {
		for _, t := range c.Tiers.All() {
			if t.Share < 1 {
				errs = append(errs, fmt.Errorf("replay: tier %s: Share is %d, want at least 1", t.Name, t.Share))
			}
		}
	}
	if c.Top < 0 || c.Steps < 0 {
		errs = append(errs, fmt.Errorf("replay: Top is %d and Steps is %d, want 0 or more", c.Top, c.Steps))
	}
	return errors.Join(errs...)
}

func (c *Config) setDefaults() {
	c.MaxQueue = slots.Bound(c.MaxQueue, slots.DefaultMaxQueue)
	c.MaxWaiting = slots.Bound(c.MaxWaiting, slots.DefaultMaxWaiting)
	c.MaxWait = slots.Bound(c.MaxWait, slots.DefaultMaxWait)
	if c.Policy == Shared {
		c.MaxQueue = c.MaxWaiting
	}
	if c.Top == 0 {
		c.Top = defaultTop
	}
	if c.Steps == 0 {
		c.Steps = defaultSteps
	}
}

func (c *Config) newPool() (pool, error) {
	core := slots.Config{
		Capacity: c.Capacity, Tiers: c.Tiers, MaxQueue: c.MaxQueue, MaxWaiting: c.MaxWaiting, MaxWait: int64(c.MaxWait),
	}
	switch c.Policy {
	case Published:
		return &published{
			capacity: c.Capacity, maxQueue: c.MaxQueue, maxWaiting: c.MaxWaiting, maxWait: int64(c.MaxWait),
			tiers: c.Tiers, uses: map[string]*use{}, waiters: map[*use]bool{},
		}, nil
	case Cap:
		core.Rule = slots.Hard
	case Shared:
		var err error
		if core.Tiers, err = tenant.NewTiers(everybody, tenant.Tier{Name: everybody, Share: c.Capacity}); err != nil {
			return nil, err
		}
	}
	return &corePool{core: slots.New(core), waiting: map[*slots.Request]*job{}, one: c.Policy == Shared}, nil
}

// alone are the bounds for a tenant of the tier that has the service to itself.
func (c *Config) alone(t tenant.Tier) bounds {
	b := bounds{
		slots: c.Capacity, queue: min(c.MaxQueue, c.MaxWaiting), wait: int64(c.MaxWait), predicts: c.Policy != Published,
	}
	switch {
	case c.Policy == Cap:
		b.slots = min(t.Share, c.Capacity)
	case c.Policy == FairSlots && t.Ceiling > 0:
		b.slots = min(t.Ceiling, c.Capacity)
	}
	return b
}
