package redisquota

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// trips is after how many failures in a row a server is not asked any more, and probeEvery how often it is then
	// tried, by a call of its own that no request waits for.
	trips      = 3
	probeEvery = 250 * time.Millisecond
	probeMost  = time.Second
)

// breaker keeps requests from waiting for a server that does not answer. The zero breaker is closed: it lets them.
type breaker struct {
	isOpen   atomic.Bool
	failures atomic.Int32 // in a row

	mu     sync.Mutex
	timer  *time.Timer // of the next probe; nil: closed
	closed bool        // for good: no more probes
}

func (b *breaker) open() bool { return b.isOpen.Load() }

// note takes down how a call ended, and opens the breaker after too many failures.
func (l *lane) note(err error) {
	if err == nil {
		if l.failures.Load() != 0 {
			l.failures.Store(0)
		}
		return
	}
	l.store.counts.failures.Add(1)
	if l.failures.Add(1) < trips {
		return
	}
	l.breaker.mu.Lock()
	defer l.breaker.mu.Unlock()
	if l.open() || l.breaker.closed {
		return
	}
	l.isOpen.Store(true)
	l.store.changed(l, err)
	l.breaker.timer = time.AfterFunc(probeEvery, l.probe)
}

// probe tries the server, and closes the breaker where it does what it is asked.
func (l *lane) probe() {
	err := l.try()
	l.breaker.mu.Lock()
	defer l.breaker.mu.Unlock()
	if l.breaker.closed {
		return
	}
	if err != nil {
		l.breaker.timer.Reset(probeEvery)
		return
	}
	l.breaker.timer = nil
	l.failures.Store(0)
	l.isOpen.Store(false)
	l.store.changed(l, nil)
}

// try connects, which may take longer than a decision may wait, and then calls the script with nothing to do, which may
// not. That is refused where decisions would be: by a replica, while the server loads, and where no memory is left.
func (l *lane) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), probeMost)
	defer cancel()
	if err := l.of.WithTimeout(probeMost).Ping(ctx).Err(); err != nil {
		l.store.lanes.forget(ctx, l)
		return err
	}
	_, err := l.time(ctx)
	return err
}

// stop ends the probes.
func (b *breaker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
