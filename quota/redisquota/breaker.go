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

// probe tries the server with a script that has nothing to do, and closes the breaker where that is done. It is refused
// where decisions would be: by a replica, while the server loads, and where there is no memory left to write to.
func (l *lane) probe() {
	_, err := l.time(context.Background())
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

// stop ends the probes.
func (b *breaker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
