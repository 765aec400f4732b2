package middleware

import (
	"context"
	"iter"
)

// holding is a slot that is held, and the stream that it became. It is guarded by mu of the root passage.
type holding struct {
	release   func() // of the slot
	users     int    // passages that run on it; 0: it is over
	given     bool   // the slot has gone back
	streaming bool   // it is a stream, or about to be
	end       func() // of the stream; nil: not yet, or not any more
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

// leave is called when p no longer runs on held, for the next handler is done. The last to leave gives back the slot, or
// ends the stream: a visit may outlast its host.
func (p *passage) leave(held *holding) {
	root := p.root()
	root.mu.Lock()
	if p.lender != nil {
		p.lender.lent = false
	}
	held.users--
	last := held.users == 0
	give, end := last && !held.given, last && held.streaming
	if give {
		held.given = true
	}
	root.mu.Unlock()
	if give {
		p.give(held)
	}
	if end {
		p.endStream(held)
	}
}

func (p *passage) give(held *holding) {
	p.tally.inFlight.Add(-1)
	if held.release != nil {
		held.release()
	}
}

// runsOnLocked returns what p runs on: a slot of its own, or the one of whom it was made in; nil: none, for the gate has
// no slots, or not here.
func (p *passage) runsOnLocked() *holding {
	for ; p != nil; p = p.host {
		if p.held != nil && p.held.users > 0 {
			return p.held
		}
	}
	return nil
}

// letGo gives back the slot that p runs on, now. It reports whether there was one to give back.
func (p *passage) letGo() bool {
	root := p.root()
	root.mu.Lock()
	held := p.runsOnLocked()
	give := held != nil && !held.given
	if give {
		held.given = true
	}
	roots := held == root.runsOnLocked()
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
// [Gate.Drain] does not wait for such a request any more, and a call to the same gate takes a slot anew. Nothing bounds
// how many of them run: a response that goes on for long, such as a stream of events or a WebSocket, is better moved by
// [Stream].
//
// It reports whether there was a slot to give back; a second call does nothing. Without Config.Slots it ends the request
// for Drain and for the metrics of requests in flight.
func Release(ctx context.Context) bool {
	released := false
	for p := range passageOf(ctx).eachGate() {
		released = !p.skipped && p.letGo() || released
	}
	return released
}

// eachGate yields the innermost passage that goes on through each gate, of p and those around it.
func (p *passage) eachGate() iter.Seq[*passage] {
	return func(yield func(*passage) bool) {
		for at := p; at != nil; at = at.outer {
			if p.through(at.gate) == at && !yield(at) {
				return
			}
		}
	}
}
