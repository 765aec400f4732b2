package quotatest

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Each store here is the one in process with one fault.

// each calls Take for each call by itself, with before and after around it.
func each(s quota.Store, ctx context.Context, rules quota.Rules, calls []quota.Call, after func(*quota.Call) error) error {
	for i := range calls {
		if err := s.Take(ctx, rules, calls[i:i+1]); err != nil {
			return err
		}
		if err := after(&calls[i]); err != nil {
			return err
		}
	}
	return nil
}

type chargesOnRefusal struct {
	quota.Store
	cluster quota.Rate // zero: charges the tenant
}

func (s chargesOnRefusal) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	return each(s.Store, ctx, rules, calls, func(c *quota.Call) error {
		if c.Result.Allowed || c.Peek {
			return nil
		}
		fined := quota.Call{Tenant: c.Tenant, Asserted: c.Asserted, Cost: 1}
		if rules.Cluster.Burst > 0 && s.cluster.Burst > 0 {
			fined = quota.Call{Tenant: "nobody", Asserted: tenant.Assertion{Tier: "open"}, Cost: 1}
		} else {
			rules.Cluster = quota.Rate{}
		}
		return s.Store.Take(ctx, rules, []quota.Call{fined})
	})
}

// debitsFirst takes the cluster's units before it asks the tenant's bucket.
type debitsFirst struct{ quota.Store }

func (s debitsFirst) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	for i := range calls {
		shared := []quota.Call{{Tenant: "nobody", Asserted: tenant.Assertion{Tier: "open"}, Cost: calls[i].Cost, Peek: calls[i].Peek}}
		if err := s.Store.Take(ctx, quota.Rules{Tiers: rules.Tiers, Cluster: rules.Cluster}, shared); err != nil {
			return err
		}
		runtime.Gosched()
		own := quota.Rules{Tiers: rules.Tiers, Counted: rules.Counted}
		if err := s.Store.Take(ctx, own, calls[i:i+1]); err != nil {
			return err
		}
		switch r := &calls[i].Result; {
		case !r.Allowed:
			if err := s.Store.Refund(ctx, rules, []quota.Charge{shared[0].Result.Charge}); err != nil {
				return err
			}
		case !shared[0].Result.Allowed:
			refused := shared[0].Result
			if err := s.Store.Refund(ctx, rules, []quota.Charge{r.Charge}); err != nil {
				return err
			}
			*r = quota.Result{Tier: r.Tier, Reason: refused.Reason, Policy: refused.Policy, RetryAfter: refused.RetryAfter}
		}
	}
	return nil
}

type chargesPeeks struct{ quota.Store }

func (s chargesPeeks) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	for i := range calls {
		calls[i].Peek = false
	}
	return s.Store.Take(ctx, rules, calls)
}

type refundsTwice struct{ quota.Store }

func (s refundsTwice) Refund(ctx context.Context, rules quota.Rules, charges []quota.Charge) error {
	if err := s.Store.Refund(ctx, rules, charges); err != nil {
		return err
	}
	return s.Store.Refund(ctx, rules, charges)
}

type refundsAnyWindow struct{ quota.Store }

func (s refundsAnyWindow) Refund(ctx context.Context, rules quota.Rules, charges []quota.Charge) error {
	for i := range charges {
		call := quota.Call{Tenant: charges[i].Tenant}
		if err := s.Store.Usage(ctx, rules, &call); err != nil {
			return err
		}
		for w := range quota.Window(quota.Windows) {
			charges[i].Windows[w] = startOf(w, call.Result.Spent.At).Unix()
		}
	}
	return s.Store.Refund(ctx, rules, charges)
}

type losesWindow struct{ quota.Store }

func (s losesWindow) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	rules.Counted &^= 1 << quota.Month
	return s.Store.Take(ctx, rules, calls)
}

type countsOwnOnly struct{ quota.Store }

func (s countsOwnOnly) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	rules.Counted = 0
	return s.Store.Take(ctx, rules, calls)
}

// forgets drops every bucket when it has seen ten tenants or so.
type forgets struct {
	quota.Store
	mu   sync.Mutex
	seen []string
}

func (s *forgets) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	s.mu.Lock()
	for _, c := range calls {
		if s.seen = append(s.seen, c.Tenant); len(s.seen) > 10 {
			_ = s.Store.Reset(ctx, rules, s.seen[0])
			s.seen = s.seen[1:]
		}
	}
	s.mu.Unlock()
	return s.Store.Take(ctx, rules, calls)
}

type handsOutBurst struct{ quota.Store }

func (s handsOutBurst) SetTier(ctx context.Context, rules quota.Rules, id string, a tenant.Assertion) error {
	if err := s.Store.SetTier(ctx, rules, id, a); err != nil {
		return err
	}
	return s.Reset(ctx, rules, id)
}

type lastAssignmentWins struct{ quota.Store }

func (s *lastAssignmentWins) SetTier(ctx context.Context, rules quota.Rules, id string, a tenant.Assertion) error {
	a.AsOf = time.Now()
	return s.Store.SetTier(ctx, rules, id, a)
}

type roundsDown struct{ quota.Store }

func (s roundsDown) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	return each(s.Store, ctx, rules, calls, func(c *quota.Call) error {
		if r := &c.Result; r.RetryAfter > time.Millisecond && r.RetryAfter != quota.Never {
			r.RetryAfter -= time.Millisecond
		}
		return nil
	})
}

type neverSettles struct{ quota.Store }

func (neverSettles) Settle(context.Context, quota.Rules, string) error { return nil }

type leasesForNothing struct{ quota.Store }

func (s leasesForNothing) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	return each(s.Store, ctx, rules, calls, func(c *quota.Call) error {
		if c.Result.Allowed && !c.Peek {
			c.Result.Leased, c.Result.LeaseFor = c.Ahead, time.Millisecond
		}
		return nil
	})
}

type checksThenTakes struct{ quota.Store }

func (s checksThenTakes) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	for i := range calls {
		ask := []quota.Call{calls[i]}
		ask[0].Peek = true
		if err := s.Store.Take(ctx, rules, ask); err != nil {
			return err
		}
		runtime.Gosched() // the gap in which another decides
		if err := s.Store.Take(ctx, rules, calls[i:i+1]); err != nil {
			return err
		}
		calls[i].Result.Allowed = ask[0].Result.Allowed
	}
	return nil
}

// keepsResult fills in what is to be said and leaves the rest.
type keepsResult struct{ quota.Store }

func (s keepsResult) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	for i := range calls {
		old := calls[i].Result
		if err := s.Store.Take(ctx, rules, calls[i:i+1]); err != nil {
			return err
		}
		if r := &calls[i].Result; r.Charge.Units == 0 {
			r.Charge = old.Charge
		}
	}
	return nil
}

type ignoresReserve struct{ quota.Store }

func (s ignoresReserve) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	rules.Reserve = 0
	return s.Store.Take(ctx, rules, calls)
}

type leasesReserve struct{ quota.Store }

func (s leasesReserve) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	if calls[0].Ahead > 0 {
		rules.Reserve = 0
	}
	return s.Store.Take(ctx, rules, calls)
}

// trustsUnlimited takes a tenant without a bucket for one whose bucket is full.
type trustsUnlimited struct{ quota.Store }

func (s trustsUnlimited) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	if calls[0].Asserted.Tier == "open" {
		rules.Reserve = 0
	}
	return s.Store.Take(ctx, rules, calls)
}

// asUnlimited returns the cluster's answer to a tenant that the reserve does not serve.
func asUnlimited(s quota.Store, ctx context.Context, rules quota.Rules, cost int) (quota.Result, error) {
	ask := []quota.Call{{Tenant: "nobody", Asserted: tenant.Assertion{Tier: "open"}, Cost: cost, Peek: true}}
	err := s.Take(ctx, rules, ask)
	return ask[0].Result, err
}

type hoardsReserve struct{ quota.Store }

func (s hoardsReserve) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	for i := range calls {
		refused, err := asUnlimited(s.Store, ctx, rules, calls[i].Cost)
		if err != nil {
			return err
		}
		if !refused.Allowed {
			calls[i].Result = refused
		} else if err := s.Store.Take(ctx, rules, calls[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// waitsForTheLine tells everybody to wait until the cluster holds the cost above the reserve.
type waitsForTheLine struct{ quota.Store }

func (s waitsForTheLine) Take(ctx context.Context, rules quota.Rules, calls []quota.Call) error {
	return each(s.Store, ctx, rules, calls, func(c *quota.Call) error {
		if c.Result.Reason != tenant.ReasonGlobal {
			return nil
		}
		refused, err := asUnlimited(s.Store, ctx, rules, c.Cost)
		c.Result.RetryAfter = refused.RetryAfter
		return err
	})
}
