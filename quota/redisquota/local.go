package redisquota

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// localTag marks the charges of decisions that were made without Redis: their refunds are not for it.
const localTag = 1

// remembered is how many tenants with a tier that is assigned in Redis are known while it is away.
const remembered = 1 << 16

// local is what a store does by itself while Redis is away.
type local struct {
	store   *Store
	memory  *quota.Memory
	journal ledger

	mu     sync.RWMutex
	parts  map[tenant.Tier]*tenant.Tiers // of a tier: a catalogue of the replica's part of it
	assign map[string]tenant.Assertion   // what is assigned in Redis, as seen last
	known  atomic.Int64                  // how many those are
}

func (lo *local) init(s *Store) {
	lo.store, lo.memory = s, quota.NewMemory(nil)
	lo.parts, lo.assign = map[tenant.Tier]*tenant.Tiers{}, map[string]tenant.Assertion{}
	lo.journal.init(s)
}

// remember remembers the tier of a tenant that is assigned one in Redis.
func (lo *local) remember(rules *quota.Rules, op *operation) {
	if !op.assignedInStore && lo.known.Load() == 0 {
		return
	}
	tier := ""
	if _, given := rules.Tiers.Assigned(op.tenant); op.assignedInStore && !given { // else that may be the tier that applied
		tier = op.call.Result.Tier.Name
	}
	lo.mu.RLock()
	known := lo.assign[op.tenant]
	lo.mu.RUnlock()
	if known.Tier == tier {
		return
	}
	lo.mu.Lock()
	defer lo.mu.Unlock()
	if tier == "" {
		delete(lo.assign, op.tenant)
	} else {
		if len(lo.assign) >= remembered {
			clear(lo.assign)
		}
		lo.assign[strings.Clone(op.tenant)] = tenant.Assertion{Tier: tier, AsOf: time.Now()}
	}
	lo.known.Store(int64(len(lo.assign)))
}

// decide answers a call that Redis did not. The error is why, where the policy is to refuse.
func (lo *local) decide(rules *quota.Rules, op *operation) error {
	lo.store.counts.alone.Add(1)
	switch lo.store.cfg.OnFailure {
	case Closed:
		return op.err
	case Open:
		lo.admit(rules, op.call)
	default:
		lo.divide(rules, op.call)
	}
	return nil
}

// tier returns the tier that applies, as far as it is known here.
func (lo *local) tier(rules *quota.Rules, c *quota.Call) tenant.Tier {
	lo.mu.RLock()
	assigned := lo.assign[c.Tenant]
	lo.mu.RUnlock()
	return rules.ApplicableTier(c.Tenant, assigned, c.Asserted)
}

func (lo *local) admit(rules *quota.Rules, c *quota.Call) {
	t := lo.tier(rules, c)
	c.Result = quota.Result{Allowed: true, Tier: t, Tokens: float64(t.Burst), Spent: quota.Spent{At: time.Now().UTC()}}
}

// divide judges a call by this replica's part of the limits.
func (lo *local) divide(rules *quota.Rules, c *quota.Call) {
	replicas := lo.store.cfg.Replicas
	mine := quota.Rules{Counted: rules.Counted, Reserve: rules.Reserve, Costs: rules.Costs}
	mine.Tiers = lo.part(lo.tier(rules, c), rules.Costs, c.Cost)
	if shared := rules.Cluster; shared.Burst > 0 {
		mine.Cluster = quota.Rate{
			PerSecond: shared.PerSecond / float64(replicas),
			Burst:     max(shared.Burst/replicas, largest(rules.Costs, c.Cost, shared.Burst)),
		}
	}
	question := [1]quota.Call{{Tenant: c.Tenant, Cost: c.Cost, Peek: c.Peek}}
	_ = lo.memory.Take(context.Background(), mine, question[:]) // never fails
	c.Result = question[0].Result
	if c.Result.Charge.Units > 0 {
		c.Result.Charge.Tag = localTag
		lo.journal.add(rules, &c.Result.Charge, c.Asserted, int64(c.Cost))
	}
}

// part returns a catalogue whose only tier is this replica's part of t.
func (lo *local) part(t tenant.Tier, costs []int, cost int) *tenant.Tiers {
	if t.Rate != tenant.Unlimited {
		replicas := lo.store.cfg.Replicas
		t.Rate /= float64(replicas)
		t.Burst = max(t.Burst/replicas, largest(costs, cost, t.Burst))
	}
	lo.mu.RLock()
	part := lo.parts[t]
	lo.mu.RUnlock()
	if part != nil {
		return part
	}
	part, err := tenant.NewTiers(t.Name, t)
	if err != nil {
		panic(err) // a part of a tier that is valid
	}
	const most = 1024
	lo.mu.Lock()
	defer lo.mu.Unlock()
	if len(lo.parts) >= most {
		clear(lo.parts)
	}
	lo.parts[t] = part
	return part
}

// largest returns the largest cost that fits a burst, at least 1.
func largest(costs []int, cost, burst int) int {
	most := 1
	if cost <= burst {
		most = max(most, cost)
	}
	for _, c := range costs {
		if c <= burst {
			most = max(most, c)
		}
	}
	return most
}

// refund gives back what was taken here.
func (lo *local) refund(rules *quota.Rules, c *quota.Charge) {
	_ = lo.memory.Refund(context.Background(), *rules, []quota.Charge{*c}) // never fails
	lo.journal.add(rules, c, tenant.Assertion{}, -int64(c.Units))
}

func (lo *local) close() error {
	_ = lo.memory.Close() // never fails
	return lo.journal.close()
}
