package redisquota

import (
	"context"
	"errors"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// manage has one operation done that a lease of its tenant must not outlive, and returns why it could not be.
func (s *Store) manage(ctx context.Context, rules *quota.Rules, op operation) error {
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	if s.cfg.Leases {
		s.leases.drop(ctx, op.tenant)
		defer s.leases.drop(ctx, op.tenant) // nor one that was asked for before
	}
	return s.ask(ctx, rules, op)
}

// ask has one operation done, and returns why it could not be.
func (s *Store) ask(ctx context.Context, rules *quota.Rules, op operation) error {
	e := newEntry(rules, 1)
	defer e.free()
	e.ops[0] = op
	s.do(ctx, e)
	return e.ops[0].err
}

// Refund implements [quota.Store]. Where Redis does not answer, the units are lost; those that were admitted while it
// was away are refunded here.
func (s *Store) Refund(ctx context.Context, rules quota.Rules, charges []quota.Charge) error {
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	var errs []error
	for i := range charges {
		c := &charges[i]
		switch {
		case c.Units <= 0:
		case c.Tag == localTag:
			s.local.refund(&rules, c)
		default:
			errs = append(errs, s.refund(ctx, &rules, c))
		}
	}
	return errors.Join(errs...)
}

func (s *Store) refund(ctx context.Context, rules *quota.Rules, c *quota.Charge) error {
	if s.cfg.Leases && s.leases.refund(rules, c) {
		return nil
	}
	err := s.ask(ctx, rules, operation{kind: refund, tenant: c.Tenant, charge: c})
	if s.cluster == nil || !c.Cluster {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	defer cancel()
	return errors.Join(err, s.pools.of(s, rules).refund(ctx, c.Units))
}

// SetTier implements [quota.Store].
func (s *Store) SetTier(ctx context.Context, rules quota.Rules, id string, assigned tenant.Assertion) error {
	return s.manage(ctx, &rules, operation{kind: setTier, tenant: id, assigned: assigned})
}

// Settle implements [quota.Store]. It does not visit every bucket: each is settled when it is next touched, as of now.
func (s *Store) Settle(ctx context.Context, rules quota.Rules, id string) error {
	if id != "" {
		return s.manage(ctx, &rules, operation{kind: settle, tenant: id})
	}
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	defer s.leases.drop(ctx, "")
	l, err := s.laneOf(ctx, sharedID)
	if err != nil {
		return err
	}
	now, err := l.time(ctx)
	if err != nil {
		return err
	}
	s.catalogues.of(rules.Tiers).look(now)
	return nil
}

// Reset implements [quota.Store]. Units that are leased stay so until they are spent or given back.
func (s *Store) Reset(ctx context.Context, rules quota.Rules, id string) error {
	return s.manage(ctx, &rules, operation{kind: reset, tenant: id})
}

// Usage implements [quota.Store].
func (s *Store) Usage(ctx context.Context, rules quota.Rules, call *quota.Call) error {
	c := *call
	c.Cost, c.Peek = 0, true
	err := s.manage(ctx, &rules, callOf(&c))
	if err == nil {
		call.Result = quota.Result{Tier: c.Result.Tier, Spent: c.Result.Spent}
	}
	return err
}

// Ping has each server that the store knows of make a decision about nobody, and returns why one does not. A service that
// is not to start without Redis asks it once; decisions do not depend on it.
func (s *Store) Ping(ctx context.Context) error {
	if !s.begin() {
		return ErrClosed
	}
	defer s.end()
	if s.cluster != nil {
		if _, err := s.laneOf(ctx, probeID); err != nil {
			return err
		}
	}
	var errs []error
	for _, l := range s.lanes.all() {
		errs = append(errs, l.try(ctx))
	}
	return errors.Join(errs...)
}

// Close implements [quota.Store]. It gives back what the store leased, and counts in Redis what was admitted while that
// was away; the error says what could not be. It may be called twice.
func (s *Store) Close() error {
	s.underWay.Lock()
	closed := s.closed.Swap(true)
	s.underWay.Unlock()
	if closed {
		return nil
	}
	s.leases.close(context.Background())
	err := errors.Join(s.local.close(), s.pools.close())
	s.whole.stop()
	s.lanes.stop()
	return err
}
