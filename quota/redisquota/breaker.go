package redisquota

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// trips is after how many failures in a row a server is not asked any more, and probeEvery how often it is then
	// tried, by a call of its own that no request waits for.
	trips      = 3
	probeEvery = 250 * time.Millisecond
	probeMost  = time.Second
)

// breaker keeps requests from waiting for a server, or a Cluster, that does not answer. At first it is closed: it lets
// them.
type breaker struct {
	counts *counts
	try    func() error // whether it answers again
	tell   func(error)  // that it does not be asked any more because of an error; nil: that it is again

	isOpen   atomic.Bool
	failures atomic.Int32 // in a row

	mu     sync.Mutex
	timer  *time.Timer // of the next probe; nil: closed
	closed bool        // for good: no more probes
}

func (b *breaker) open() bool { return b.isOpen.Load() }

// note takes down how a call ended, and opens the breaker after too many failures.
func (b *breaker) note(err error) {
	if err == nil {
		if b.failures.Load() != 0 {
			b.failures.Store(0)
		}
		return
	}
	b.counts.failures.Add(1)
	if b.failures.Add(1) < trips {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open() || b.closed {
		return
	}
	b.isOpen.Store(true)
	b.tell(err)
	b.timer = time.AfterFunc(probeEvery, b.probe)
}

// probe tries the server, and closes the breaker where it does what it is asked.
func (b *breaker) probe() {
	err := b.try()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if err != nil {
		b.timer.Reset(probeEvery)
		return
	}
	b.timer = nil
	b.failures.Store(0)
	b.isOpen.Store(false)
	b.tell(nil)
}

// try connects, which may take longer than a decision may wait, and then calls the script with nothing to do, which may
// not. That is refused where decisions would be: by a replica, while the server loads, and where no memory is left.
func (l *lane) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), probeMost)
	defer cancel()
	var reply redis.Error // an answer, whatever it says
	if err := l.of.WithTimeout(probeMost).Ping(ctx).Err(); err != nil && !errors.As(err, &reply) {
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
