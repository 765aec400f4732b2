package slots

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/tenant"
)

// subject is what is put to the test: a *[Core], or one with a fault.
type subject interface {
	Enter(now int64, r *Request, t tenant.Tenant)
	TryEnter(now int64, r *Request, t tenant.Tenant) bool
	Stream(now int64, r *Request, t tenant.Tenant)
	Refuse(now int64, r *Request, t tenant.Tenant)
	Leave(now int64, r *Request)
	Expire(now int64, r *Request)
	Resize(now int64, capacity int)
	Retune(now int64, id string)
	Tick(now int64)
	Drain()
	Close()
	Decided(f func(*Request))
}

// operation names a method of a subject.
type operation string

const (
	enter  operation = "enter"
	try    operation = "try"
	stream operation = "stream"
	late   operation = "come late"
	leave  operation = "leave"
	expire operation = "expire"
	resize operation = "resize"
	retune operation = "retune"
	tick   operation = "tick"
	drain  operation = "drain"
	shut   operation = "close"
)

// step is one operation on a core, and what it decided.
type step struct {
	op       operation
	now      int64
	r        *Request      // enter to expire
	who      tenant.Tenant // enter to late
	capacity int           // resize
	id       string        // retune
	decided  []*Request    // in order; without r
}

// A follower sees every step of a core and says what is wrong with it.
type follower interface {
	follow(s step) error
}

// machine makes random steps.
type machine struct {
	subject
	tiers     *tenant.Tiers
	tenants   int
	now       int64
	live      []*Request // they wait, hold or stream
	ended     []*Request // some that do not any more
	followers []follower
	err       error // the first that a follower found
}

// drawConfig returns a configuration whose bounds are often reached.
func drawConfig(t *rapid.T, rule Rule) Config {
	tiers, err := tenant.NewTiers("s1",
		tenant.Tier{Name: "s1", Share: 1}, tenant.Tier{Name: "s2", Share: 2, Ceiling: 3},
		tenant.Tier{Name: "s3", Share: 3, Ceiling: 3, Streams: 1}, tenant.Tier{Name: "s7", Share: 7, Streams: 3})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Rule:       rule,
		Capacity:   rapid.IntRange(1, 12).Draw(t, "capacity"),
		Tiers:      tiers,
		MaxQueue:   rapid.SampledFrom([]int{100, 100, 100, 3, 1, 0}).Draw(t, "maxQueue"),
		MaxWaiting: rapid.SampledFrom([]int{1000, 1000, 9, 9, 4, 0}).Draw(t, "maxWaiting"),
		MaxWait:    rapid.SampledFrom([]int64{0, 5000 * ms, 50 * ms}).Draw(t, "maxWait"),
	}
}

func newMachine(t *rapid.T, s subject, tiers *tenant.Tiers, followers ...follower) *machine {
	m := &machine{subject: s, tiers: tiers, followers: followers}
	m.tenants = rapid.SampledFrom([]int{2, 4, 12}).Draw(t, "tenants")
	if _, err := tiers.Watch(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) CheckTier(tenant.Tier) error { return nil }

func (m *machine) TierChanged(id string) { m.make(step{op: retune, id: id}) }

// make makes a step and shows it to the followers.
func (m *machine) make(s step) {
	s.now = m.now
	switch s.op {
	case enter:
		m.Enter(s.now, s.r, s.who)
	case try:
		m.TryEnter(s.now, s.r, s.who)
	case stream:
		m.Stream(s.now, s.r, s.who)
	case late:
		m.Refuse(s.now, s.r, s.who)
	case leave:
		m.Leave(s.now, s.r)
	case expire:
		m.Expire(s.now, s.r)
	case resize:
		m.Resize(s.now, s.capacity)
	case retune:
		m.Retune(s.now, s.id)
	case tick:
		m.Tick(s.now)
	case drain:
		m.Drain()
	case shut:
		m.Close()
	}
	m.Decided(func(r *Request) { s.decided = append(s.decided, r) })
	if s.op == enter || s.op == try || s.op == stream || s.op == late {
		m.live = append(m.live, s.r)
	}
	m.live = slices.DeleteFunc(m.live, func(r *Request) bool {
		over := r.State == Done || r.State == Refused
		if over {
			m.ended = append(m.ended, r)
		}
		return over
	})
	m.ended = m.ended[max(len(m.ended)-8, 0):]
	for _, f := range m.followers {
		if m.err != nil {
			return
		}
		if err := f.follow(s); err != nil {
			m.err = fmt.Errorf("%s at %d ns: %w", s.op, s.now, err)
		}
	}
}

func (m *machine) check(t *rapid.T) {
	if m.err != nil {
		t.Fatal(m.err)
	}
}

func (m *machine) drawID(t *rapid.T) string {
	return fmt.Sprint("t", rapid.IntRange(0, m.tenants-1).Draw(t, "tenant"))
}

func (m *machine) drawTenant(t *rapid.T) tenant.Tenant {
	return tenant.Tenant{ID: m.drawID(t), Tier: rapid.SampledFrom([]string{"", "s1", "s2", "s3", "s7"}).Draw(t, "tier")}
}

// drawRequest returns a request to enter, which may have been there before.
func (m *machine) drawRequest(t *rapid.T) *Request {
	r := &Request{}
	if n := len(m.ended); n > 0 && rapid.Bool().Draw(t, "again") {
		r, m.ended = m.ended[n-1], m.ended[:n-1]
	}
	r.Width = rapid.SampledFrom([]int{0, 1, 1, 1, 1, 2, 3, 9}).Draw(t, "width")
	r.Deadline = 0
	if wait := rapid.SampledFrom([]int64{0, 0, 1, ms, 30 * ms, 50 * ms, 2000 * ms}).Draw(t, "deadline"); wait > 0 {
		r.Deadline = m.now + wait
	}
	return r
}

// drawEnd ends one of those who wait, hold or stream, if there is any.
func (m *machine) drawEnd(t *rapid.T, op operation) {
	if len(m.live) > 0 {
		m.make(step{op: op, r: rapid.SampledFrom(m.live).Draw(t, "request")})
	}
}

// actions are the steps that a machine chooses from.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check,
		"enter": func(t *rapid.T) {
			m.make(step{op: enter, r: m.drawRequest(t), who: m.drawTenant(t)})
		},
		"burst": func(t *rapid.T) {
			who := m.drawTenant(t)
			for range rapid.IntRange(2, 8).Draw(t, "requests") {
				m.make(step{op: enter, r: m.drawRequest(t), who: who})
			}
		},
		"try":       func(t *rapid.T) { m.make(step{op: try, r: m.drawRequest(t), who: m.drawTenant(t)}) },
		"stream":    func(t *rapid.T) { m.make(step{op: stream, r: m.drawRequest(t), who: m.drawTenant(t)}) },
		"come late": func(t *rapid.T) { m.make(step{op: late, r: m.drawRequest(t), who: m.drawTenant(t)}) },
		"leave":     func(t *rapid.T) { m.drawEnd(t, leave) },
		"expire":    func(t *rapid.T) { m.drawEnd(t, expire) },
		"end again": func(t *rapid.T) {
			if len(m.ended) > 0 {
				r := rapid.SampledFrom(m.ended).Draw(t, "request")
				m.make(step{op: rapid.SampledFrom([]operation{leave, expire}).Draw(t, "op"), r: r})
			}
		},
		"wait": func(t *rapid.T) {
			m.now += rapid.SampledFrom([]int64{
				1, ms, 20 * ms, 60 * ms, 900 * ms, 2500 * ms, 8000 * ms, 11_000 * ms, -20 * ms,
			}).Draw(t, "for")
		},
		"tick":   func(*rapid.T) { m.make(step{op: tick}) },
		"resize": func(t *rapid.T) { m.make(step{op: resize, capacity: rapid.IntRange(1, 12).Draw(t, "capacity")}) },
		"assign": func(t *rapid.T) {
			if err := m.tiers.Assign(m.drawID(t), rapid.SampledFrom([]string{"s1", "s2", "s3", "s7"}).Draw(t, "tier")); err != nil {
				t.Fatal(err)
			}
		},
		"unassign": func(t *rapid.T) { m.tiers.Unassign(m.drawID(t)) },
		"define": func(t *rapid.T) {
			share := rapid.IntRange(1, 6).Draw(t, "share")
			tier := tenant.Tier{Name: rapid.SampledFrom([]string{"s1", "s2", "s7"}).Draw(t, "tier"), Share: share}
			tier.Streams = rapid.IntRange(0, 2).Draw(t, "streams")
			if rapid.Bool().Draw(t, "capped") {
				tier.Ceiling = share + rapid.IntRange(0, 3).Draw(t, "more")
			}
			if err := m.tiers.Define(tier); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// run makes many steps, closes, makes some more, and ends every request, as the end of any service does.
func (m *machine) run(t *rapid.T) {
	actions := m.actions()
	for range 10 {
		t.Repeat(actions)
	}
	m.make(step{op: rapid.SampledFrom([]operation{drain, shut}).Draw(t, "shut")})
	m.check(t)
	t.Repeat(actions)
	for len(m.live) > 0 && m.err == nil {
		m.make(step{op: leave, r: m.live[0]})
	}
	m.now += ForgetAfter + 20*ms // more than the clock may have stepped back
	m.make(step{op: tick})
	m.check(t)
}
