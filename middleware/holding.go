package middleware

import "context"

// holding is a slot that is held. It is guarded by mu of the root passage.
type holding struct {
	release func()
	users   int // passages that run on it
	given   bool
}

// claimSlot reports whether p has not been at the slots before.
func (p *passage) claimSlot() bool {
	root := p.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	claimed := !p.seated
	p.seated = true
	return claimed
}

// unclaimSlot undoes claimSlot for a request that got no slot: it may try again.
func (p *passage) unclaimSlot() {
	root := p.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	p.seated = false
}

// borrow lets a visit run on the slot that its host runs on, and reports whether it may. One at a time may: the host
// waits for it, as a rule, and needs no slot meanwhile. What two do at a time needs two.
func (p *passage) borrow() bool {
	root := p.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	for host := p.host; host != nil; host = host.host {
		if host.held == nil || host.held.given {
			continue
		}
		if host.lent {
			return false
		}
		host.lent, p.lender, p.held = true, host, host.held
		p.held.users++
		return true
	}
	return false
}

// hold notes that p runs on a slot of its own.
func (p *passage) hold(release func()) {
	p.tally.inFlight.Add(1)
	root := p.root()
	root.mu.Lock()
	defer root.mu.Unlock()
	p.own = holding{release: release, users: 1}
	p.held = &p.own
}

// leave is called when the next handler is done. The last to leave a slot gives it back: a visit may outlast its host.
func (p *passage) leave() {
	root := p.root()
	root.mu.Lock()
	if p.lender != nil {
		p.lender.lent = false
	}
	held := p.held
	held.users--
	give := held.users == 0 && !held.given
	if give {
		held.given = true
	}
	root.mu.Unlock()
	if give {
		p.give(held)
	}
}

func (p *passage) give(held *holding) {
	p.tally.inFlight.Add(-1)
	if held.release != nil {
		held.release()
	}
}

// letGo gives back the slot that p runs on, now. It reports whether there was one to give back.
func (p *passage) letGo() bool {
	root := p.root()
	root.mu.Lock()
	at := p
	for at.held == nil && at.host != nil {
		at = at.host
	}
	held := at.held
	give := held != nil && !held.given
	if give {
		held.given = true
	}
	roots := held == root.held // also where neither is: the gate has no slots, or not here
	root.mu.Unlock()
	if give {
		p.give(held)
	}
	if roots {
		departed := root.depart()
		give = give || departed
	}
	return give
}

// Release gives back the slot that the request of ctx runs on, in every gate that it passed, before its handler returns.
// It is for a response that goes on for long and takes little, such as a stream of events or a WebSocket. [Gate.Drain]
// does not wait for such a request any more, and a call to the same gate takes a slot anew.
//
// It reports whether there was a slot to give back; a second call does nothing. Without Config.Slots it ends the request
// for Drain and for the metrics of requests in flight.
func Release(ctx context.Context) bool {
	released := false
	innermost := passageOf(ctx)
	for p := innermost; p != nil; p = p.outer {
		if innermost.through(p.gate) == p && !p.skipped {
			released = p.letGo() || released
		}
	}
	return released
}
