package slots

import (
	"fmt"
	"math"
	"slices"

	"github.com/tenantgate/tenantgate/tenant"
)

// observer checks the properties of a core after each step. Who waits in which order, who holds how much, and what each
// tenant may have, is in its own books, which it keeps from what goes in and comes out; of the core it takes the tags and
// the virtual clock. It repeats a step's decisions one after the other, so that each is judged in the state in which it
// was made. The tags of that moment it finds by going back from the last: a grant added to a tag what it charged.
type observer struct {
	core     *Core
	cfg      Config
	capacity int
	closing  bool
	now      int64

	parties map[string]*party
	claims  map[*Request]*claim // that wait, hold or stream
	waiting []*claim            // in the order in which they came
	births  int
	grants  int
	passes  int

	inUse   int
	granted []*Request // in this step, in order

	virtual      float64 // the core's, before the step
	lastActive   int     // shares of those who held or waited, before the step
	lastCapacity int
	steps        int
}

// party is what the books say of a tenant.
type party struct {
	id       string
	asserted tenant.Assertion
	born     int
	tier     tenant.Tier
	limit    int

	holds, streams int
	queue          []*claim
	granted        int     // number of the last grant; 0: none
	charged        float64 // by the last grant
	since          int64   // when it came, or last ceased to hold, to wait and to stream
	idle           int64   // when it came, or last ceased to hold and to wait, or was turned away
	touched        int64   // when it was last heard of

	lane   *lane
	before float64 // its tag before the step
	tags   []tag   // before each of the step's grants that is still to come, and after them all
	moved  bool    // the step granted or ended something of it
	waited bool    // it waited before the step
	fresh  bool    // it came with the step
}

// claim is what the books say of a request.
type claim struct {
	r       *Request
	of      *party
	arrived int64
	state   State
	slots   int
	passed  int // when, as a number
	passing int
}

// tag is what is known of a tenant's tag at a grant: it is between the two, which are the same where it is known exactly.
type tag struct{ least, most float64 }

func newObserver(c *Core, cfg Config) *observer {
	return &observer{core: c, cfg: cfg, capacity: cfg.Capacity, parties: map[string]*party{}, claims: map[*Request]*claim{}}
}

func (o *observer) follow(s step) error {
	o.steps++
	if s.op != drain && s.op != shut {
		o.now = max(o.now, s.now)
	}
	if err := o.open(s); err != nil {
		return err
	}
	for _, check := range []func(step) error{
		o.replay, o.sumsAgree, o.nothingIdles, o.tagsAreBounded, o.remembersWhomItMust,
	} {
		if err := check(s); err != nil {
			return err
		}
	}
	o.close()
	return nil
}

// open brings the books to where the step's decisions begin: capacity and tiers, and the tags from the last back.
func (o *observer) open(s step) error {
	if s.op == resize {
		o.capacity = s.capacity
	}
	if comes(s.op) && !o.closing {
		o.meet(s.who)
	}
	o.closing = o.closing || s.op == drain || s.op == shut
	for _, p := range o.parties {
		o.adopt(p)
		if l := o.core.lanes[p.id]; l != nil {
			p.lane = l // else it is that of one who is forgotten now
		}
		if p.lane == nil {
			return violated(8, "%s is not known", p.id)
		}
		p.tags = append(p.tags[:0], tag{p.lane.tag, p.lane.tag})
		p.moved, p.waited = false, len(p.queue) > 0
	}
	o.granted = o.grantsOf(s)
	for i, r := range slices.Backward(o.granted) {
		p := o.partyOf(r, s)
		if p == nil {
			return violated(7, "a request is granted slots, but does not wait")
		}
		first := !slices.ContainsFunc(o.granted[:i], func(r *Request) bool { return o.partyOf(r, s) == p })
		p.tags = append(p.tags, o.tagBefore(p, r.charged, first))
	}
	for _, p := range o.parties {
		slices.Reverse(p.tags)
	}
	return nil
}

// tagBefore is p's tag before a grant that charged so much. Where the rule raised the tag afterwards, there is no telling
// how much lower it was.
func (o *observer) tagBefore(p *party, charged float64, first bool) tag {
	after := p.tags[len(p.tags)-1]
	if first && p.before+charged == after.least {
		return tag{p.before, p.before}
	}
	before := tag{after.least - charged - rounding, after.most - charged + rounding}
	if floor := o.core.leastTag(); floor > 0 && after.least <= floor+rounding {
		before.least = math.Inf(-1)
	}
	return before
}

// rounding is by how much two tags may differ that are the same, in nanoseconds.
const rounding = 1

func comes(op operation) bool { return op == enter || op == try || op == stream || op == late }

// partyOf is the tenant of r, which may be the one that comes.
func (o *observer) partyOf(r *Request, s step) *party {
	if c := o.claims[r]; c != nil {
		return c.of
	}
	if r == s.r && comes(s.op) {
		return o.parties[s.who.ID]
	}
	return nil
}

// grantsOf is all that the step granted, in order. If the core pushed somebody out for it, the request that came may have
// been granted among others; its tenant's last grant is its own.
func (o *observer) grantsOf(s step) (granted []*Request) {
	for _, r := range s.decided {
		if r.State == Granted {
			granted = append(granted, r)
		}
	}
	if (s.op == enter || s.op == try) && s.r.State == Granted {
		after := 0
		if l := o.core.lanes[s.who.ID]; l != nil && l.grant <= o.core.grants {
			after = min(int(o.core.grants-l.grant), len(granted))
		}
		granted = slices.Insert(granted, len(granted)-after, s.r)
	}
	return granted
}

// meet opens the books of a tenant, or takes in what it says of its tier.
func (o *observer) meet(who tenant.Tenant) {
	p := o.parties[who.ID]
	if p == nil {
		o.births++
		p = &party{id: who.ID, born: o.births, since: o.now, idle: o.now, before: math.Inf(-1), fresh: true}
		o.parties[who.ID] = p
	}
	p.asserted = p.asserted.Merge(who.Assertion())
	p.touched = o.now
}

func (o *observer) adopt(p *party) {
	p.tier = o.cfg.Tiers.For(tenant.Tenant{ID: p.id, Tier: p.asserted.Tier})
	p.limit = o.capacity
	if o.cfg.Rule == Hard {
		p.limit = min(p.tier.Share, o.capacity)
	} else if p.tier.Ceiling > 0 {
		p.limit = min(p.tier.Ceiling, o.capacity)
	}
}

// close remembers what the next step is compared with.
func (o *observer) close() {
	o.virtual, o.lastActive, o.lastCapacity = o.core.virtual, 0, o.capacity
	for _, p := range o.parties {
		p.before, p.fresh = p.lane.tag, false
		if p.busy() {
			o.lastActive += p.tier.Share
		}
	}
}

func (p *party) busy() bool { return p.holds > 0 || len(p.queue) > 0 }

func (p *party) need(c *claim) int { return min(c.r.width(), p.limit) }

func (p *party) mayRun() bool {
	return len(p.queue) > 0 && p.holds+p.need(p.queue[0]) <= p.limit
}

func (o *observer) below(p *party) bool { return p.holds < min(p.tier.Share, o.capacity) }

// pass lets waiters through their tenants' lanes, which is the order of the hard rule.
func (o *observer) pass() {
	if o.cfg.Rule != Hard {
		return
	}
	through, stopped := map[*party]int{}, map[*party]bool{}
	for _, c := range o.waiting {
		through[c.of] += c.passing
	}
	for _, c := range o.waiting {
		n := c.of.need(c)
		switch {
		case c.passed > 0:
		case stopped[c.of] || c.of.holds+through[c.of]+n > c.of.limit:
			stopped[c.of] = true
		default:
			through[c.of] += n
			o.passes++
			c.passed, c.passing = o.passes, n
		}
	}
}

func (o *observer) enqueue(c *claim) {
	c.state = Waiting
	c.of.queue = append(c.of.queue, c)
	o.waiting = append(o.waiting, c)
	o.claims[c.r] = c
	o.pass()
}

func (o *observer) unqueue(c *claim) {
	is := func(other *claim) bool { return other == c }
	c.of.queue = slices.DeleteFunc(c.of.queue, is)
	o.waiting = slices.DeleteFunc(o.waiting, is)
	c.passing = 0
}

// rest notes when a tenant of which something ended became idle.
func (o *observer) rest(p *party) {
	p.touched = o.now
	if !p.busy() {
		p.idle = o.now
	}
	if !p.busy() && p.streams == 0 {
		p.since = o.now
	}
}

func (p *party) String() string {
	return fmt.Sprintf("%s (%d of %d slots in use, tag %.0f to %.0f, grant %d)",
		p.id, p.holds, p.tier.Share, p.tags[0].least, p.tags[0].most, p.granted)
}
