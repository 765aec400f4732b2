package slots

import (
	"math"
	"slices"

	"github.com/tenantgate/tenantgate/tenant"
)

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

func (m *model) overdue(r *modelRequest) tenant.Reason {
	if m.below(r.of) && m.mayRun(r) {
		return tenant.ReasonCapacity
	}
	return tenant.ReasonShare
}

func (m *model) need(r *modelRequest) int { return min(r.width, m.limit(r.of)) }

// mayRun reports whether r, which is the first of its tenant, would be granted, were there slots enough.
func (m *model) mayRun(r *modelRequest) bool { return r.of.inUse+m.need(r) <= m.limit(r.of) }

func (m *model) expected(t *modelTenant) float64 {
	return m.holds(t).mean
}

func (m *model) holds(t *modelTenant) *Average {
	if !t.hold.known {
		return &m.hold
	}
	return &t.hold
}

// sure is how many slots t gets whatever the others do.
func (m *model) sure(t *modelTenant) float64 {
	active := 0
	for _, other := range m.tenants {
		if other.active {
			active += m.tier(other).Share
		}
	}
	share := m.tier(t).Share
	return min(float64(m.capacity)*(float64(share)/float64(max(active, share))), float64(m.limit(t)))
}

func (m *model) wanted(t *modelTenant) (n int) {
	for _, r := range m.queueOf(t) {
		n += m.need(r)
	}
	return n
}

// wait is how long r, the last of its tenant's queue, would wait at least by what is known.
func (m *model) wait(r *modelRequest) float64 {
	t := r.of
	slots := float64(m.limit(t))
	for _, other := range m.tenants {
		if q := m.queueOf(other); other != t && len(q) > 0 && m.mayRun(q[0]) {
			slots = max(m.sure(t), float64(t.inUse))
		}
	}
	return math.Floor(float64(m.wanted(t))/slots) * m.holds(t).Low()
}

// backlog is how long the queue of r's tenant and r, which is not in it, will take.
func (m *model) backlog(r *modelRequest) int64 {
	t := r.of
	return int64(min(float64(m.wanted(t)+m.need(r))*m.expected(t)/max(m.sure(t), float64(t.inUse)), math.MaxInt64/2))
}

func (m *model) room(r *modelRequest) tenant.Reason {
	t := r.of
	queue := len(m.queueOf(t))
	switch {
	case m.maxQueue == 0 || m.maxWaiting == 0:
		return m.overdue(r)
	case queue >= m.maxQueue:
		return tenant.ReasonShare
	case r.deadline != 0 && (m.maxWait == 0 || r.deadline-m.now <= m.maxWait):
		if r.late = m.wait(r) > float64(r.deadline-m.now); r.late {
			return m.overdue(r)
		}
	case m.maxWait != 0 && m.wait(r) > float64(m.maxWait):
		return m.overdue(r)
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
		return m.overdue(r)
	}
	q := m.queueOf(longest)
	m.refuse(q[len(q)-1], m.overdue(q[len(q)-1]))
	return tenant.ReasonNone
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
	if !m.below(x) && m.need(a) != m.need(b) {
		return m.need(a) < m.need(b)
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
