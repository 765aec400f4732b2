package slots

import (
	"slices"

	"github.com/tenantgate/tenantgate/tenant"
)

// model is the rule of the package comment, word for word and slowly: it looks at every waiter for every decision and
// keeps no order, no sum and no list but that of arrivals. The core must decide exactly as it does.
type model struct {
	rule                 Rule
	tiers                *tenant.Tiers
	capacity             int
	maxQueue, maxWaiting int
	maxWait              int64

	now           int64
	virtual, hold float64
	grants        uint64
	passes        int
	closing       bool
	tenants       []*modelTenant // in the order in which they came
	waiting       []*modelRequest
	decided       []*modelRequest
}

type modelTenant struct {
	id        string
	asserted  tenant.Assertion
	inUse     int
	tag       float64
	hold      float64
	grant     uint64
	idleSince int64
	active    bool
}

type modelRequest struct {
	of      *modelTenant
	state   State
	reason  tenant.Reason
	arrived int64
	granted int64
	charged float64
	passed  int
}

func newModel(cfg Config) *model {
	return &model{
		rule: cfg.Rule, tiers: cfg.Tiers, capacity: cfg.Capacity,
		maxQueue: cfg.MaxQueue, maxWaiting: cfg.MaxWaiting, maxWait: cfg.MaxWait, hold: -1,
	}
}

func (m *model) tier(t *modelTenant) tenant.Tier {
	return m.tiers.For(tenant.Tenant{ID: t.id, Tier: t.asserted.Tier})
}

func (m *model) queueOf(t *modelTenant) (q []*modelRequest) {
	for _, r := range m.waiting {
		if r.of == t {
			q = append(q, r)
		}
	}
	return q
}

func (m *model) inUse() (n int) {
	for _, t := range m.tenants {
		n += t.inUse
	}
	return n
}

func (m *model) limit(t *modelTenant) int {
	tier := m.tier(t)
	if m.rule == Hard {
		return min(tier.Share, m.capacity)
	}
	if tier.Ceiling == 0 {
		return m.capacity
	}
	return min(tier.Ceiling, m.capacity)
}

func (m *model) below(t *modelTenant) bool { return t.inUse < min(m.tier(t).Share, m.capacity) }

func (m *model) overdue(t *modelTenant) tenant.Reason {
	if m.below(t) {
		return tenant.ReasonCapacity
	}
	return tenant.ReasonShare
}

func (m *model) step(now int64) { m.now = max(m.now, now) }

func (m *model) rest(t *modelTenant) {
	if t.active && t.inUse == 0 && len(m.queueOf(t)) == 0 {
		t.active, t.idleSince = false, m.now
	}
}

// atCeiling follows every change of the tenant.
func (m *model) atCeiling(t *modelTenant) {
	if len(m.queueOf(t)) > 0 && t.inUse >= m.limit(t) {
		t.tag = max(t.tag, m.leastTag())
	}
}

func (m *model) retune(id string) {
	for _, t := range m.tenants {
		if id == "" || t.id == id {
			m.atCeiling(t)
		}
	}
	m.dispatch()
}

// forget drops the tenants that the core forgot, if it may.
func (m *model) forget(remembered func(id string) bool) {
	m.tenants = slices.DeleteFunc(m.tenants, func(t *modelTenant) bool {
		return !t.active && m.now-t.idleSince >= forgetAfter && !remembered(t.id)
	})
}

func (m *model) tenant(t tenant.Tenant) *modelTenant {
	for _, known := range m.tenants {
		if known.id == t.ID {
			if merged := known.asserted.Merge(t.Assertion()); merged != known.asserted {
				known.asserted = merged
				m.retune(t.ID)
			}
			return known
		}
	}
	fresh := &modelTenant{id: t.ID, asserted: t.Assertion(), tag: -1e300, hold: -1, idleSince: m.now}
	m.tenants = append(m.tenants, fresh)
	return fresh
}

// leastTag is the tag that idleness leaves a tenant at the least.
func (m *model) leastTag() float64 {
	active := 0
	for _, t := range m.tenants {
		if t.active {
			active += m.tier(t).Share
		}
	}
	return max(m.virtual-creditSeconds*min(1, float64(m.capacity)/float64(active)), 0)
}

func (m *model) begin(t *modelTenant) {
	if !t.active {
		left := 1 - float64(m.now-t.idleSince)/forgetAfter
		t.tag = min(t.tag, m.virtual+aheadSeconds*left)
		t.active = true
	}
	if len(m.queueOf(t)) == 0 {
		t.tag = max(t.tag, m.leastTag())
	}
}

func (m *model) enter(r *modelRequest, t tenant.Tenant, try bool) {
	if m.closing {
		if !try {
			r.state, r.reason = Refused, tenant.ReasonClosing
		}
		return
	}
	r.of = m.tenant(t)
	free := m.inUse() < m.capacity && r.of.inUse < m.limit(r.of)
	if try && !free {
		return
	}
	m.begin(r.of)
	if free {
		m.grant(r)
		return
	}
	if r.reason = m.room(r.of); r.reason != tenant.ReasonNone {
		r.state = Refused
		m.rest(r.of)
		return
	}
	r.state, r.arrived = Waiting, m.now
	m.waiting = append(m.waiting, r)
	m.atCeiling(r.of)
	m.passAll()
}

// late refuses r, which came when it had no time left.
func (m *model) late(r *modelRequest, t tenant.Tenant) {
	r.state, r.reason = Refused, tenant.ReasonClosing
	if !m.closing {
		r.of = m.tenant(t)
		r.reason = m.overdue(r.of)
	}
}

func (m *model) room(t *modelTenant) tenant.Reason {
	queue := len(m.queueOf(t))
	switch {
	case m.maxQueue == 0 || m.maxWaiting == 0:
		return m.overdue(t)
	case queue >= m.maxQueue:
		return tenant.ReasonShare
	case len(m.waiting) < m.maxWaiting:
		return tenant.ReasonNone
	}
	var longest *modelTenant
	length := 0.0
	for _, other := range m.tenants { // of equals the one that came last
		if n := float64(len(m.queueOf(other))) / float64(m.tier(other).Share); n > 0 && n >= length {
			longest, length = other, n
		}
	}
	if float64(queue+1)/float64(m.tier(t).Share) >= length {
		return m.overdue(t)
	}
	q := m.queueOf(longest)
	m.refuse(q[len(q)-1], m.overdue(longest))
	return tenant.ReasonNone
}

func (m *model) refuse(r *modelRequest, reason tenant.Reason) {
	m.waiting = slices.DeleteFunc(m.waiting, func(w *modelRequest) bool { return w == r })
	r.state, r.reason = Refused, reason
	m.decided = append(m.decided, r)
	m.atCeiling(r.of)
	m.rest(r.of)
	m.passAll()
}

func (m *model) grant(r *modelRequest) {
	t := r.of
	expected := max(t.hold, 0)
	if t.hold < 0 {
		expected = max(m.hold, 0)
	}
	charged := expected / float64(m.tier(t).Share)
	m.virtual = max(m.virtual, t.tag)
	t.tag += charged
	m.grants++
	t.grant = m.grants
	t.inUse++
	r.state, r.granted, r.charged = Granted, m.now, charged
}

// leave ends r, which waits or holds, as Done or as Refused.
func (m *model) leave(r *modelRequest, as State) {
	t := r.of
	if r.state == Waiting {
		m.waiting = slices.DeleteFunc(m.waiting, func(w *modelRequest) bool { return w == r })
	} else {
		t.inUse--
		held := float64(m.now-r.granted) / second
		settled := t.tag + (held/float64(m.tier(t).Share) - r.charged)
		t.tag = min(max(settled, min(t.tag, m.leastTag())), m.virtual+aheadSeconds)
		average(&t.hold, held, tenantWeight)
		average(&m.hold, held, poolWeight)
	}
	if r.state = as; as == Refused {
		r.reason = m.overdue(t)
	}
	m.atCeiling(t)
	m.rest(t)
	m.dispatch()
}

// dispatch lets requests pass their lanes and grants while there is a slot and anybody who may run.
func (m *model) dispatch() {
	for {
		m.passAll()
		var best *modelRequest
		seen := map[*modelTenant]bool{}
		for _, r := range m.waiting { // the first of a tenant is its oldest
			if !seen[r.of] && r.of.inUse < m.limit(r.of) && (best == nil || m.before(r, best)) {
				best = r
			}
			seen[r.of] = true
		}
		if best == nil || m.inUse() >= m.capacity {
			return
		}
		m.waiting = slices.DeleteFunc(m.waiting, func(w *modelRequest) bool { return w == best })
		m.grant(best)
		m.atCeiling(best.of)
		m.decided = append(m.decided, best)
	}
}

func (m *model) passAll() {
	through := map[*modelTenant]int{}
	for _, r := range m.waiting {
		if r.passed > 0 {
			through[r.of]++
		}
	}
	for _, r := range m.waiting {
		if r.passed == 0 && r.of.inUse+through[r.of] < m.limit(r.of) {
			through[r.of]++
			m.passes++
			r.passed = m.passes
		}
	}
}

func (m *model) before(a, b *modelRequest) bool {
	if m.rule == Hard {
		return a.passed < b.passed
	}
	x, y := a.of, b.of
	if m.below(x) != m.below(y) {
		return m.below(x)
	}
	if over, under := float64(x.inUse)/float64(m.tier(x).Share), float64(y.inUse)/float64(m.tier(y).Share); !m.below(x) && over != under {
		return over < under
	}
	if x.tag != y.tag {
		return x.tag < y.tag
	}
	if x.grant != y.grant {
		return x.grant < y.grant
	}
	return slices.Index(m.tenants, x) < slices.Index(m.tenants, y)
}
