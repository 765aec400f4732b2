package middleware

import (
	"context"
	"sync"
	"sync/atomic"
)

// door counts who is inside, and lets nobody in any more once it is closed.
type door struct {
	closed atomic.Bool
	inside atomic.Int64
	empty  chan struct{} // closed once the door is closed and nobody is inside
	once   sync.Once
}

// enter counts before it looks whether the door is closed: so whoever closes it and then sees nobody inside knows that
// nobody slipped in.
func (d *door) enter() bool {
	d.inside.Add(1)
	if d.closed.Load() {
		d.leave()
		return false
	}
	return true
}

func (d *door) leave() {
	if d.inside.Add(-1) == 0 && d.closed.Load() {
		d.once.Do(func() { close(d.empty) })
	}
}

func (d *door) close() {
	d.closed.Store(true)
	if d.inside.Load() == 0 {
		d.once.Do(func() { close(d.empty) })
	}
}

// Drain refuses new requests from now on, for good ([tenant.ReasonClosing]); skipped ones still pass. It returns nil once
// no request holds a slot or waits, and the last one that the gate let in is done or has called [Release]; where ctx ends
// before, it returns ctx.Err().
//
// It drains the Slots as well, where they have a Drain method: a pool that others use too is closed to them.
func (g *Gate) Drain(ctx context.Context) error {
	g.door.close()
	if pool, ok := g.cfg.Slots.(interface{ Drain(context.Context) error }); ok {
		if err := pool.Drain(ctx); err != nil {
			return err
		}
	}
	select {
	case <-g.door.empty:
		return nil
	default:
	}
	select {
	case <-g.door.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close refuses new requests like [Gate.Drain], and answers those that wait for a slot: it closes the Slots, where they
// have a Close method. Requests that run are left alone. The limiter stays open, for the gate does not know who else uses
// it. Close may be called more than once.
func (g *Gate) Close() {
	g.door.close()
	if pool, ok := g.cfg.Slots.(interface{ Close() }); ok {
		pool.Close()
	}
}
