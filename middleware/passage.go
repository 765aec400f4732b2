package middleware

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/tenantgate/tenantgate/tenant"
)

// passage is one request on its way through one gate. The outermost piece makes it, and it travels in the request's
// context, of which it is a part: the pieces behind find it there, and so does the same gate where the request meets it
// again, mounted twice or called by the handler.
//
// Such a visit within a request, for the same tenant, has a passage too, whose host is the one that it was made in. It is
// not counted, and not judged; all it may have of its own is a slot.
type passage struct {
	context.Context // the request's, as the piece got it
	gate            *Gate
	outer           *passage // the next one around, through whichever gate; nil: none
	host            *passage // nil: a request of its own
	request         *http.Request
	skipped         bool
	returned        bool          // the next handler did, rather than panic
	tenant          tenant.Tenant // as asserted
	tally           *tally        // where the tenant's requests are counted

	// Guarded by mu of the root: hosts and guests may be in different goroutines.
	mu       sync.Mutex
	tier     string // that was applied; "": not known
	outcome  Outcome
	judged   bool  // quota has judged, or does; its refusals are forgotten
	charged  bool  // outcome.Decision took something, and may be refunded
	owing    bool  // it was refunded: to try again the request has to be judged again
	lookup   error // of TierOf
	inside   bool  // Drain waits for it
	finished bool

	seated bool // it has been at the slots
	own    holding
	held   *holding // the slot it runs on: its own or its host's; nil: none yet
	lender *passage // whose slot that is; nil: its own
	lent   bool     // a visit runs on the slot
	aside  holding  // without a slot: of the root, for a stream that it became while it had none

	operation string // what it asks for
	named     bool
}

type passageKey struct{}

// Value implements [context.Context].
func (p *passage) Value(key any) any {
	if key == (passageKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// String keeps the tenant out of a printed context.
func (p *passage) String() string { return "middleware.passage" }

// passageOf returns the innermost passage that ctx is in; nil: none.
func passageOf(ctx context.Context) *passage {
	p, _ := ctx.Value(passageKey{}).(*passage)
	return p
}

// through returns the innermost passage through g that goes on, of p and those around it; nil: none.
func (p *passage) through(g *Gate) *passage {
	for ; p != nil; p = p.outer {
		if p.gate == g && p.goesOn() {
			return p
		}
	}
	return nil
}

// of is through for the passages of tenant id.
func (p *passage) of(g *Gate, id string) *passage {
	for p = p.through(g); p != nil; p = p.outer.through(g) {
		if !p.skipped && p.tenant.ID == id {
			return p
		}
	}
	return nil
}

// goesOn reports whether the request is still served. Who comes with the context of one that is not makes a request of
// its own.
func (p *passage) goesOn() bool {
	root := p.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	return !root.finished
}

// root returns the passage that is counted.
func (p *passage) root() *passage {
	for p.host != nil {
		p = p.host
	}
	return p
}

// visit makes p a visit within host.
func (p *passage) visit(host *passage) {
	p.host, p.tenant, p.tally = host, host.tenant, host.tally
}

// appliedTier returns the tier that was applied; "": not known.
func (p *passage) appliedTier() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tier
}

// settle notes what became of the request so far. It does nothing on a visit, which is no request. It may come too late
// to be observed: an http.TimeoutHandler between the pieces does not wait for the inner ones.
func (p *passage) settle(result Result, reason tenant.Reason, status int, err error) {
	if p.host != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.Result, p.outcome.Reason, p.outcome.Status, p.outcome.Err = result, reason, status, err
}

// admit reports whether the gate lets the request in, which it does until it drains.
func (p *passage) admit() bool {
	if !p.gate.door.enter() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inside = true
	if p.gate.cfg.Slots == nil {
		p.tally.inFlight.Add(1)
	}
	return true
}

// depart undoes admit, once. It reports whether there was anything to undo.
func (p *passage) depart() bool {
	p.mu.Lock()
	inside := p.inside
	p.inside = false
	p.mu.Unlock()
	if !inside {
		return false
	}
	if p.gate.cfg.Slots == nil {
		p.tally.inFlight.Add(-1)
	}
	p.gate.door.leave()
	return true
}

// finish ends the passage: the request is counted and observed. It is deferred, so that a panic passes through.
func (p *passage) finish() {
	if p.host != nil {
		return
	}
	p.depart()
	p.leave(&p.aside)
	p.mu.Lock()
	p.finished = true
	o, tier := p.outcome, p.tier
	p.mu.Unlock()
	if o.Result == "" {
		o.Result = Failed
	}
	p.gate.metrics.count(p.tally, tier, &o)
	if p.gate.cfg.Observe == nil {
		return
	}
	o.Panicked = !p.returned
	o.Tenant = p.tenant
	if tier != "" {
		o.Tenant.Tier = tier
	}
	if p.lookup != nil {
		o.Err = errors.Join(p.lookup, o.Err)
	}
	p.gate.cfg.Observe(p.request, o)
}
