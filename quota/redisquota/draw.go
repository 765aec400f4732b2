package redisquota

import (
	"context"
	"time"

	"github.com/tenantgate/tenantgate/quota"
)

func (p *pool) takeTurn(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pool) passTurn() { <-p.turn }

// draw gives back what is not lent, and leases what is needed, and some more where the last lease was soon spent. Who
// calls it holds the turn.
func (p *pool) draw(ctx context.Context, need int) error {
	sent := p.store.elapsed()
	p.mu.Lock()
	most := p.rules.Cluster.Burst / (2 * p.store.cfg.Replicas)
	switch since := sent - p.drawn; {
	case since < 50*time.Millisecond:
		p.ahead = min(2*p.ahead+need, most)
	case since > idle:
		p.ahead /= 2
	}
	d := drawing{want: portion{open: float64(need + min(p.ahead, max(most-need, 0))), reserve: float64(need)}}
	ops := p.giveBack()
	p.mu.Unlock()

	ops = append(ops, &operation{kind: draw, tenant: sharedID, drawing: &d})
	now, err := p.send(ctx, ops)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.level, p.drawn = d.level, sent
	if units := int(d.got.open + d.got.reserve); units > 0 {
		p.parts = append(p.parts, &part{portion: d.got, units: units, until: sent + micros(d.got.ends-now)})
	}
	p.arm()
	return nil
}

// giveBack returns operations that end every part but for what is lent of it. p is locked.
func (p *pool) giveBack() []*operation {
	p.news = false
	var ops []*operation
	kept := p.parts[:0]
	for _, from := range p.parts {
		if units := from.units - from.lent; units > 0 {
			unspent := &quota.Charge{Units: int(from.open + from.reserve), Bucket: true}
			ops = append(ops, &operation{
				kind: release, tenant: sharedID, charge: unspent, lease: hold{units: units, ends: from.ends},
			})
		}
		from.open, from.reserve, from.units = 0, 0, from.lent
		if from.lent > 0 && p.store.elapsed() < from.until {
			kept = append(kept, from)
		}
	}
	clear(p.parts[len(kept):])
	p.parts = kept
	return ops
}

// send has operations on the shared bucket done, and returns the time of its server.
func (p *pool) send(ctx context.Context, ops []*operation) (now float64, err error) {
	l, err := p.store.laneOf(ctx, sharedID)
	if err != nil {
		return 0, err
	}
	if err := l.open(); err != nil {
		return 0, err
	}
	r := requests.Get().(*request)
	defer requests.Put(r)
	r.init(p.store, &p.rules)
	for _, op := range ops {
		r.add(op)
	}
	// Not by way of the lane's queue: those who are under way there may be waiting for this.
	err = l.sendAll(ctx, []*request{r})
	l.note(err)
	if err == nil {
		err = ops[len(ops)-1].err
	}
	return r.now, err
}

// refund takes back units that were spent: here, where the bucket was not told of that yet.
func (p *pool) refund(ctx context.Context, units int) error {
	if err := p.takeTurn(ctx); err != nil { // or the bucket hears of this before it hears that they were spent
		return err
	}
	defer p.passTurn()
	p.mu.Lock()
	for _, to := range p.parts {
		spent := to.units - to.lent - int(to.open+to.reserve)
		back := min(units, spent)
		to.reserve += float64(back) // it is for the bucket to say who may have it
		units -= back
	}
	p.tell()
	p.mu.Unlock()
	if units == 0 {
		return nil
	}
	charge := &quota.Charge{Units: units, Bucket: true}
	_, err := p.send(ctx, []*operation{{kind: refund, tenant: sharedID, charge: charge}})
	return err
}

// arm has the parts swept later. p is locked.
func (p *pool) arm() {
	if p.timer == nil && !p.closed {
		p.timer = time.AfterFunc(idle, p.sweep)
	}
}

// sweep gives everything back once nobody has borrowed for a while.
func (p *pool) sweep() {
	p.mu.Lock()
	busy := p.store.elapsed()-p.used < idle
	if busy && !p.closed {
		p.timer.Reset(idle)
		p.mu.Unlock()
		return
	}
	p.timer = nil
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), p.store.cfg.Timeout)
	defer cancel()
	_ = p.returnAll(ctx) // what cannot be given back comes back when the lease is over
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.parts) > 0 { // of which something is lent, to a tenant's lease say, and comes back later
		p.arm()
	}
}

func (p *pool) returnAll(ctx context.Context) error {
	if err := p.takeTurn(ctx); err != nil {
		return err
	}
	defer p.passTurn()
	p.mu.Lock()
	ops := p.giveBack()
	p.mu.Unlock()
	if len(ops) == 0 {
		return nil
	}
	_, err := p.send(ctx, ops)
	return err
}

func (p *pool) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), p.store.cfg.Timeout)
	defer cancel()
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	return p.returnAll(ctx)
}
