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
	streams   int
	tag       float64
	hold      float64
	grant     uint64
	idleSince int64
	parked    int64
	active    bool
}

type modelRequest struct {
	of       *modelTenant
	width    int
	deadline int64
	state    State
	reason   tenant.Reason
	late     bool
	arrived  int64
	granted  int64
	slots    int
	charged  float64
	passed   int // when, as a number
	passing  int // the width with which it did
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

func (m *model) need(r *modelRequest) int { return min(r.width, m.limit(r.of)) }

// mayRun reports whether r, which is the first of its tenant, would be granted, were there slots enough.
func (m *model) mayRun(r *modelRequest) bool { return r.of.inUse+m.need(r) <= m.limit(r.of) }

func (m *model) step(now int64) { m.now = max(m.now, now) }

func (m *model) rest(t *modelTenant) {
	if t.active && t.inUse == 0 && len(m.queueOf(t)) == 0 {
		t.active, t.idleSince, t.parked = false, m.now, m.now
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
		return !t.active && t.streams == 0 && m.now-t.parked >= forgetAfter && !remembered(t.id)
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
	fresh := &modelTenant{id: t.ID, asserted: t.Assertion(), tag: -1e300, hold: -1, idleSince: m.now, parked: m.now}
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
		left := max(1-float64(m.now-t.idleSince)/forgetAfter, 0)
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
		r.state = Refused
		m.rest(r.of)
		return
	}
	r.state, r.arrived = Waiting, m.now
	m.waiting = append(m.waiting, r)
	m.floor(r.of)
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
		r.reason, r.late = m.overdue(r.of), true
	}
}

func (m *model) expected(t *modelTenant) float64 {
	if t.hold < 0 {
		return max(m.hold, 0)
	}
	return t.hold
}

// wait is how long r, the last of its tenant's queue, would wait at least by what is known.
func (m *model) wait(r *modelRequest) float64 {
	t := r.of
	wanted := 0
	for _, w := range m.queueOf(t) {
		wanted += w.width
	}
	alone, active := true, 0
	for _, other := range m.tenants {
		q := m.queueOf(other)
		alone = alone && (other == t || len(q) == 0 || !m.mayRun(q[0]))
		if other.active {
			active += m.tier(other).Share
		}
	}
	slots := float64(m.limit(t))
	if !alone {
		share := m.tier(t).Share
		slots = max(float64(share)*min(1, float64(m.capacity)/float64(max(active, share))), float64(t.inUse))
	}
	return float64(wanted) * m.expected(t) / slots
}

func (m *model) room(r *modelRequest) tenant.Reason {
	t := r.of
	queue := len(m.queueOf(t))
	switch {
	case m.maxQueue == 0 || m.maxWaiting == 0:
		return m.overdue(t)
	case queue >= m.maxQueue:
		return tenant.ReasonShare
	case r.deadline != 0 && (m.maxWait == 0 || r.deadline-m.now <= m.maxWait):
		if r.late = m.wait(r) > float64(r.deadline-m.now); r.late {
			return m.overdue(t)
		}
	case m.maxWait != 0 && m.wait(r) > float64(m.maxWait):
		return m.overdue(t)
	}
	if len(m.waiting) < m.maxWaiting {
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
	m.floor(r.of)
	m.rest(r.of)
	m.passAll()
}

func (m *model) grant(r *modelRequest) {
	t := r.of
	n := m.need(r)
	charged := m.expected(t) * float64(n) / float64(m.tier(t).Share)
	m.virtual = max(m.virtual, t.tag)
	t.tag += charged
	m.grants++
	t.grant = m.grants
	t.inUse += n
	r.state, r.granted, r.slots, r.charged = Granted, m.now, n, charged
}

// leave ends r, which waits, holds or streams, as Done or as Refused.
func (m *model) leave(r *modelRequest, as State) {
	t := r.of
	switch r.state {
	case Waiting:
		m.waiting = slices.DeleteFunc(m.waiting, func(w *modelRequest) bool { return w == r })
	case Streaming:
		t.streams--
		if !t.active && t.streams == 0 {
			t.parked = m.now
		}
	default:
		held := float64(m.now - r.granted)
		t.tag = max(t.tag, m.leastTag())
		t.tag = min(t.tag+(held*float64(r.slots)/float64(m.tier(t).Share)-r.charged), m.virtual+ahead)
		t.tag = max(t.tag, m.leastTag())
		t.inUse -= r.slots
		average(&t.hold, held, tenantWeight)
		average(&m.hold, held, poolWeight)
	}
	if r.state = as; as == Refused {
		r.reason, r.late = m.overdue(t), true
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

// first is the first to run of those that may.
func (m *model) first() (first *modelRequest) {
	m.passAll()
	seen := map[*modelTenant]bool{}
	for _, r := range m.waiting { // the first of a tenant is its oldest
		if !seen[r.of] && m.mayRun(r) && (first == nil || m.before(r, first)) {
			first = r
		}
		seen[r.of] = true
	}
	return first
}

func (m *model) passAll() {
	through := map[*modelTenant]int{}
	for _, r := range m.waiting {
		through[r.of] += r.passing
	}
	stopped := map[*modelTenant]bool{}
	for _, r := range m.waiting {
		if r.passed > 0 {
			continue
		}
		if n := m.need(r); !stopped[r.of] && r.of.inUse+through[r.of]+n <= m.limit(r.of) {
			through[r.of] += n
			m.passes++
			r.passed, r.passing = m.passes, n
		} else {
			stopped[r.of] = true
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
