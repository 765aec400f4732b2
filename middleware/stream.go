package middleware

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenantgate/tenantgate/tenant"
)

var errNoRequest = errors.New("middleware: the context is of no request that a gate serves: mount one around the handler, or it is over")

// Stream makes the request of ctx a stream: it gives its slots back, in every gate that it passed, and counts among the
// tenant's streams instead, of which Tier.Streams may run at once. It is for a response that goes on for long and takes
// little, such as a stream of events or a WebSocket. [Gate.Drain] does not wait for a stream, and a call to the same gate
// takes a slot anew.
//
// The stream ends when the handler returns, however it does. So a handler that hijacks the connection must not return
// before the connection is done with: what goes on after that is not counted. [Release] does not end it.
//
// Call it before anything was written, and answer an error by [Refuse]: the request is no stream then, in no gate, and
// keeps its slots. The error is a *[tenant.Refusal] where all streams are in use (tenant.ReasonShare), the tier allows none
// (tenant.ReasonPlan), or the pool drains or is closed (tenant.ReasonClosing). It is another where Config.Slots has no
// AcquireStream method, and where ctx is of no request that a gate serves.
//
// A second call does nothing. A request that holds no slot, for it never took one or has called [Release], becomes a
// stream all the same; one that a gate without Config.Slots serves always may, and one that is skipped need not.
func Stream(ctx context.Context) error {
	served := false
	var moved []*passage
	var ends []func()
	for p := range passageOf(ctx).eachGate() {
		served = true
		if p.skipped {
			continue
		}
		end, err := p.beginStream()
		if err != nil {
			for _, end := range ends {
				end()
			}
			return err
		}
		moved, ends = append(moved, p), append(ends, end)
	}
	if !served {
		return errNoRequest
	}
	for _, p := range moved {
		p.letGo()
	}
	return nil
}

// beginStream makes what p runs on a stream, beside the slot that it still holds. end undoes that; it does nothing where
// it was a stream before.
func (p *passage) beginStream() (end func(), err error) {
	root := p.root()
	root.mu.Lock()
	held := p.runsOnLocked()
	if held == root.runsOnLocked() && (held == nil || root.aside.streaming) {
		held = &root.aside
	}
	was := held.streaming
	held.streaming = true
	root.mu.Unlock()
	if was {
		return func() {}, nil
	}
	release, err := p.gate.acquireStream(p.tenant)
	if err != nil {
		p.endStream(held)
		return nil, err
	}
	p.tally.streams.Add(1)
	root.mu.Lock()
	held.end = release
	over := held.users == 0 // the handler has returned meanwhile
	root.mu.Unlock()
	if over {
		p.endStream(held)
	}
	return func() { p.endStream(held) }, nil
}

// endStream ends the stream that held is, if it is one.
func (p *passage) endStream(held *holding) {
	root := p.root()
	root.mu.Lock()
	end := held.end
	held.streaming, held.end = false, nil
	root.mu.Unlock()
	if end != nil {
		p.tally.streams.Add(-1)
		end()
	}
}

// acquireStream takes one of the tenant's streams from the pool.
func (g *Gate) acquireStream(t tenant.Tenant) (release func(), err error) {
	if g.cfg.Slots == nil {
		return func() {}, nil
	}
	pool, ok := g.cfg.Slots.(interface {
		AcquireStream(tenant.Tenant) (func(), error)
	})
	if !ok {
		return nil, fmt.Errorf("middleware: Stream: a %T has no AcquireStream", g.cfg.Slots)
	}
	release, err = pool.AcquireStream(t)
	if err == nil && release == nil {
		release = func() {}
	}
	return release, err
}
