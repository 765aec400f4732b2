package quota

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// shards is how many independently locked parts a Memory has: a power of two, and enough that a sweep of one part of a
// million accounts holds its lock for a fraction of a millisecond.
const shards = 256

// Memory is the [Store] in this process. Every decision is exact, and judged by the tier that applies at that moment.
//
// It forgets a tenant once nobody can tell: bucket full, nothing spent in any window that holds now, and idle for ten
// seconds; see the package comment. Assignments of [Memory.SetTier] it never forgets. It has no goroutine: sweeps ride
// on Take, and on a timer that is armed only while there is something to forget.
type Memory struct {
	clock   func() time.Time // nil: time.Now
	epoch   time.Time
	seed    maphash.Seed
	shards  [shards]shard
	cluster cluster
	alarm   alarm
}

// NewMemory returns an empty store. now is its clock, called from any goroutine; nil: time.Now. Of times that carry a
// monotonic reading, as time.Now's do, that one moves the buckets, and the wall's the windows.
func NewMemory(now func() time.Time) *Memory {
	m := &Memory{clock: now, epoch: time.Now(), seed: maphash.MakeSeed()}
	if now != nil {
		m.epoch = now()
	}
	m.alarm.ring = m.sweep
	m.alarm.off()
	for i := range m.shards {
		m.shards[i] = shard{
			accounts: map[string]*account{},
			assigned: map[string]tenant.Assertion{},
			calendar: newCalendar(m.epoch.Round(0)),
			due:      Never,
		}
	}
	return m
}

// instant is one reading of the clock: the time since the epoch, by which buckets live, and the wall's, by which
// windows do.
type instant struct {
	mono time.Duration
	wall time.Time // without monotonic reading
}

func (m *Memory) now() instant {
	now := m.clock
	if now == nil {
		now = time.Now
	}
	t := now()
	return instant{mono: t.Sub(m.epoch), wall: t.Round(0)}
}

// nowFor is now, but for the wall where it does not matter: reading one clock instead of two halves the time.
func (m *Memory) nowFor(rules *Rules) instant {
	if m.clock == nil && rules.Counted == 0 {
		return instant{mono: time.Since(m.epoch)}
	}
	return m.now()
}

// shard is the accounts of some of the tenants.
//
// due is never later than the moment at which the first of accounts can be forgotten.
type shard struct {
	mu       sync.Mutex
	accounts map[string]*account
	assigned map[string]tenant.Assertion // by SetTier; outlives the accounts
	mono     time.Duration               // the latest that was seen
	calendar calendar                    // likewise
	due      time.Duration               // of the next sweep; Never: there is nothing to forget
	peak     int                         // the most accounts since the map was made
}

// lock locks the shard of tenant id and brings it to now.
func (m *Memory) lock(id string, now instant) *shard {
	return m.shards[maphash.String(m.seed, id)%shards].lock(now)
}

func (s *shard) lock(now instant) *shard {
	s.mu.Lock()
	s.mono = max(s.mono, now.mono)
	s.calendar.advance(now.wall)
	return s
}

// tierName returns the name of the tier that applies. s is locked.
func (s *shard) tierName(rules *Rules, id string, asserted *tenant.Assertion) string {
	var assigned tenant.Assertion
	if len(s.assigned) > 0 {
		assigned = s.assigned[id]
	}
	return rules.applicableName(id, &assigned, asserted)
}

// Take implements [Store]. It never fails.
func (m *Memory) Take(_ context.Context, rules Rules, calls []Call) error {
	now := m.nowFor(&rules)
	for i := range calls {
		calls[i].Result = Result{}
		m.take(&rules, &calls[i], now)
	}
	return nil
}

// take decides c, whose Result is zero.
func (m *Memory) take(rules *Rules, c *Call, now instant) {
	s := m.lock(c.Tenant, now)
	defer s.mu.Unlock()
	if s.due <= s.mono {
		s.sweep()
	}
	known := s.accounts[c.Tenant]
	a := known
	if c.Peek || known == nil { // what is then found to change is dropped, or kept at the end
		scratch := account{}
		if known != nil {
			scratch = *known
		}
		a = &scratch
	}
	a.assert(&c.Asserted)
	c.Result.Tier = rules.Tiers.Named(s.tierName(rules, c.Tenant, &a.asserted))
	settled := a.settle(s.mono, &c.Result.Tier)

	// The tier may be newer than the rules, and limit a window that they do not have yet.
	quotas := limited(&c.Result.Tier.Quotas)
	counted := rules.Counted | quotas
	if counted != 0 && now.wall.IsZero() {
		now.wall = m.now().wall
		s.calendar.advance(now.wall)
	}
	j := &judgement{rules: rules, quotas: quotas, counted: counted, call: c, account: a, shard: s, now: &now}
	taken := j.decide(&m.cluster)
	j.report()
	if known == nil && taken > 0 {
		s.accounts[strings.Clone(c.Tenant)] = a.clone()
		m.sweepSoon(s)
	} else if known != nil && settled {
		m.sweepSoon(s)
	}
}

// Refund implements [Store]. It never fails.
func (m *Memory) Refund(_ context.Context, _ Rules, charges []Charge) error {
	now := m.now()
	for i := range charges {
		m.refund(&charges[i], now)
	}
	return nil
}

func (m *Memory) refund(c *Charge, now instant) {
	if c.Units <= 0 {
		return
	}
	s := m.lock(c.Tenant, now)
	defer s.mu.Unlock()
	if c.Cluster {
		m.cluster.give(now.mono, c.Units)
	}
	a, ok := s.accounts[c.Tenant]
	if !ok {
		return // its bucket is full, and its windows are over
	}
	if c.Bucket {
		a.bucket.Give(s.mono, float64(c.Units))
	}
	a.spent.refund(c, &s.calendar)
	m.sweepSoon(s)
}

// SetTier implements [Store]. It never fails.
func (m *Memory) SetTier(_ context.Context, rules Rules, id string, assigned tenant.Assertion) error {
	s := m.lock(id, m.now())
	defer s.mu.Unlock()
	switch before := s.assigned[id]; {
	case before.AsOf.After(assigned.AsOf):
	case assigned.Tier == "":
		delete(s.assigned, id)
	default:
		s.assigned[strings.Clone(id)] = tenant.Assertion{Tier: strings.Clone(assigned.Tier), AsOf: assigned.AsOf}
	}
	m.settle(&rules, s, id)
	return nil
}

// Settle implements [Store]. It never fails.
func (m *Memory) Settle(_ context.Context, rules Rules, id string) error {
	now := m.now()
	if id != "" {
		s := m.lock(id, now)
		defer s.mu.Unlock()
		m.settle(&rules, s, id)
		return nil
	}
	for i := range m.shards {
		s := m.shards[i].lock(now)
		for id := range s.accounts {
			m.settle(&rules, s, id)
		}
		s.mu.Unlock()
	}
	return nil
}

// settle brings the account of tenant id, if there is one, under the tier that applies now. s is locked.
func (m *Memory) settle(rules *Rules, s *shard, id string) {
	a, ok := s.accounts[id]
	if !ok {
		return
	}
	tier := rules.Tiers.Named(s.tierName(rules, id, &a.asserted))
	if a.settle(s.mono, &tier) {
		m.sweepSoon(s)
	}
}

// Reset implements [Store]. It never fails.
func (m *Memory) Reset(_ context.Context, _ Rules, id string) error {
	s := m.lock(id, m.now())
	defer s.mu.Unlock()
	if a, ok := s.accounts[id]; ok {
		a.bucket.Give(s.mono, a.bucket.Burst)
		m.sweepSoon(s)
	}
	return nil
}

// Usage implements [Store]. It never fails.
func (m *Memory) Usage(_ context.Context, rules Rules, c *Call) error {
	s := m.lock(c.Tenant, m.now())
	defer s.mu.Unlock()
	a := account{}
	if known, ok := s.accounts[c.Tenant]; ok {
		a = *known
	}
	asserted := a.asserted.Merge(c.Asserted)
	c.Result = Result{
		Tier:  rules.Tiers.Named(s.tierName(&rules, c.Tenant, &asserted)),
		Spent: a.spent.spent(&s.calendar),
	}
	return nil
}

// Close implements [Store]. It stops the timer that forgets idle tenants; the store still decides, and forgets idle
// tenants as others come.
func (m *Memory) Close() error {
	m.alarm.close()
	return nil
}
