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

	now     int64
	virtual float64
	hold    Average
	grants  uint64
	passes  int
	closing bool
	tenants []*modelTenant // in the order in which they came
	waiting []*modelRequest
	decided []*modelRequest
}

type modelTenant struct {
	id        string
	asserted  tenant.Assertion
	inUse     int
	streams   int
	tag       float64
	hold      Average
	grant     uint64
	idleSince int64
	parked    int64
	active    bool
}

type modelRequest struct {
	core       *Request // the same in the core
	of         *modelTenant
	width      int
	deadline   int64
	state      State
	reason     tenant.Reason
	late       bool
	retryAfter int64
	arrived    int64
	granted    int64
	slots      int
	charged    float64
	passed     int // when, as a number
	passing    int // the width with which it did
}

func newModel(cfg Config) *model {
	return &model{
		rule: cfg.Rule, tiers: cfg.Tiers, capacity: cfg.Capacity,
		maxQueue: cfg.MaxQueue, maxWaiting: cfg.MaxWaiting, maxWait: cfg.MaxWait,
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

func (m *model) step(now int64) { m.now = max(m.now, now) }

func (m *model) rest(t *modelTenant) {
	if t.active && t.inUse == 0 && len(m.queueOf(t)) == 0 {
		t.active, t.parked = false, m.now
	}
}

// floor follows every change of a tenant that waits.
func (m *model) floor(t *modelTenant) {
	if len(m.queueOf(t)) > 0 {
		t.tag = max(t.tag, m.leastTag())
	}
}

func (m *model) retune(id string) {
	for _, t := range m.tenants {
		if id == "" || t.id == id {
			m.floor(t)
		}
	}
	m.dispatch()
}

// forget drops the tenants that the core forgot, if it may.
func (m *model) forget(remembered func(id string) bool) {
	m.tenants = slices.DeleteFunc(m.tenants, func(t *modelTenant) bool {
		return !t.active && t.streams == 0 && m.now-t.parked >= ForgetAfter && !remembered(t.id)
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
	fresh := &modelTenant{id: t.ID, asserted: t.Assertion(), tag: -1e300, idleSince: m.now, parked: m.now}
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
	return max(m.virtual-fullCredit*min(1, float64(m.capacity)/float64(active)), 0)
}

func (m *model) begin(t *modelTenant) {
	if !t.active {
		left := max(1-float64(m.now-t.idleSince)*(1.0/ForgetAfter), 0)
		t.tag = min(t.tag, m.virtual+ahead*left)
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
	m.begin(r.of)
	if m.mayTake(r) {
		m.grant(r)
		return
	}
	if try {
		m.rest(r.of)
		return
	}
	if r.reason = m.room(r); r.reason != tenant.ReasonNone {
		r.state, r.retryAfter = Refused, m.backlog(r)
		m.rest(r.of)
		return
	}
	r.state, r.arrived = Waiting, m.now
	m.waiting = append(m.waiting, r)
	m.dispatch()
	m.decided = slices.DeleteFunc(m.decided, func(d *modelRequest) bool { return d == r })
}

func (m *model) mayTake(r *modelRequest) bool {
	if m.need(r) > m.capacity-m.inUse() || len(m.queueOf(r.of)) > 0 || !m.mayRun(r) {
		return false
	}
	first := m.first()
	return first == nil || m.rule == Fair && m.before(r, first)
}

func (m *model) stream(r *modelRequest, t tenant.Tenant) {
	r.state, r.reason = Refused, tenant.ReasonClosing
	if m.closing {
		return
	}
	r.of = m.tenant(t)
	switch allowed := m.tier(r.of).Streams; {
	case allowed == 0:
		r.reason = tenant.ReasonPlan
	case r.of.streams >= allowed:
		r.reason = tenant.ReasonShare
	default:
		r.state, r.reason = Streaming, tenant.ReasonNone
		r.of.streams++
	}
}

// late refuses r, whose deadline came before it.
func (m *model) late(r *modelRequest, t tenant.Tenant) {
	r.state, r.reason = Refused, tenant.ReasonClosing
	if !m.closing {
		r.of = m.tenant(t)
		r.reason, r.late, r.retryAfter = m.overdue(r), true, m.backlog(r)
	}
}

func (m *model) refuse(r *modelRequest, reason tenant.Reason) {
	m.waiting = slices.DeleteFunc(m.waiting, func(w *modelRequest) bool { return w == r })
	r.state, r.reason, r.retryAfter = Refused, reason, m.backlog(r)
	m.decided = append(m.decided, r)
	r.of.idleSince = m.now
	m.floor(r.of)
	m.rest(r.of)
	m.passAll()
}

func (m *model) grant(r *modelRequest) {
	t := r.of
	n := m.need(r)
	charged := m.expected(t) * float64(n) * (1 / float64(m.tier(t).Share))
	active := m.tier(t).Share
	for _, other := range m.tenants {
		if other != t && other.active {
			active += m.tier(other).Share
		}
	}
	pace := charged * float64(m.tier(t).Share) / float64(active)
	if t.tag > m.virtual {
		m.virtual = t.tag
	} else {
		m.virtual = max(m.virtual, min(m.virtual+pace/4, t.tag+fullCredit))
	}
	t.tag += charged
	m.grants++
	t.grant = m.grants
	t.inUse += n
	r.state, r.granted, r.slots, r.charged = Granted, m.now, n, charged
}

// leave ends r, which waits, holds or streams, as Done or as Refused.
func (m *model) leave(r *modelRequest, as State) {
	if r == nil {
		return // it had ended
	}
	t := r.of
	switch r.state {
	case Waiting:
		t.idleSince = m.now
		m.waiting = slices.DeleteFunc(m.waiting, func(w *modelRequest) bool { return w == r })
	case Streaming:
		t.streams--
		if !t.active && t.streams == 0 {
			t.parked = m.now
		}
	default:
		t.idleSince = m.now
		held := float64(m.now - r.granted)
		t.tag = max(t.tag, m.leastTag())
		t.tag = min(t.tag+(held*float64(r.slots)*(1/float64(m.tier(t).Share))-r.charged), m.virtual+ahead)
		t.tag = max(t.tag, m.leastTag())
		t.inUse -= r.slots
		t.hold.Add(held, TenantWeight)
		m.hold.Add(held, PoolWeight)
	}
	if r.state = as; as == Refused {
		r.reason, r.late, r.retryAfter = m.overdue(r), true, m.backlog(r)
	}
	m.floor(t)
	m.rest(t)
	m.dispatch()
}

// dispatch lets requests pass their lanes and grants while there are slots enough for the first of those that may run.
func (m *model) dispatch() {
	for {
		r := m.first()
		if r == nil || m.need(r) > m.capacity-m.inUse() {
			return
		}
		m.waiting = slices.DeleteFunc(m.waiting, func(w *modelRequest) bool { return w == r })
		m.grant(r)
		m.floor(r.of)
		m.decided = append(m.decided, r)
	}
}
