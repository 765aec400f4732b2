package quota

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/internal/bucket"
)

// sweepEvery is the least time between two sweeps of a shard, and how long a tenant is remembered at least.
const sweepEvery = 10 * time.Second

// sweep forgets every account that says no more than a new one would. s is locked.
func (s *shard) sweep() {
	due := Never
	for id, a := range s.accounts {
		if at := a.forgettable(s.mono, &s.calendar); at <= s.mono {
			delete(s.accounts, id)
		} else {
			due = min(due, at)
		}
	}
	s.due = max(due, bucket.Add(s.mono, sweepEvery))
	if len(s.accounts) < s.peak/4 { // a Go map never shrinks
		kept := make(map[string]*account, len(s.accounts))
		maps.Copy(kept, s.accounts)
		s.accounts, s.peak = kept, len(kept)
	}
}

// sweepSoon has s swept once there may be something to forget: an account was made, or one changed so that it may be
// forgettable sooner. s is locked.
func (m *Memory) sweepSoon(s *shard) {
	s.peak = max(s.peak, len(s.accounts))
	s.due = min(s.due, bucket.Add(s.mono, sweepEvery))
	m.alarm.set(s.due, sweepEvery)
}

// sweep sweeps the shards that are due, and sets the alarm for the next one that is.
func (m *Memory) sweep() {
	m.alarm.off()
	now, due := m.now(), Never
	for i := range m.shards {
		s := m.shards[i].lock(now)
		if s.due <= s.mono {
			s.sweep()
		}
		due = min(due, s.due)
		s.mu.Unlock()
	}
	if due != Never {
		m.alarm.set(due, max(bucket.Sub(due, now.mono), sweepEvery))
	}
}

// alarm is the one timer of a [Memory]. It is armed only while some account can be forgotten in time, and for when the
// first can, so that a store without traffic gives its memory back, and one without tenants is left alone.
type alarm struct {
	ring func()
	due  atomic.Int64 // when it goes off, in the store's time; Never: it does not. Written with mu held.

	mu     sync.Mutex
	timer  *time.Timer
	closed bool
}

// set makes the alarm go off after wait, which is at due, unless it goes off before that anyway.
func (a *alarm) set(due, wait time.Duration) {
	if a.due.Load() <= int64(due) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.due.Load() <= int64(due) {
		return
	}
	a.due.Store(int64(due))
	if a.timer == nil {
		a.timer = time.AfterFunc(wait, a.ring)
	} else {
		a.timer.Reset(wait)
	}
}

// off says that the alarm went off, or never was set.
func (a *alarm) off() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due.Store(int64(Never))
}

func (a *alarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
}
