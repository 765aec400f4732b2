package jwttenant

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// remoteKeys are the keys that a source has. One goroutine fetches them (run); requests look them up without a lock, and
// take the lock only for keys that are not there.
type remoteKeys struct {
	source  source
	fetcher *fetcher
	use     keyUse
	cfg     JWKSConfig

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned; nil before start
	wake   chan struct{} // has an element where running was asked for and not begun; sent to with mu held

	table atomic.Pointer[keyTable] // written with mu held

	mu       sync.Mutex
	running  chan struct{} // closed when the fetch ends that was asked for or has begun; nil: there is none
	begun    uint64        // how many fetches have
	began    time.Time     // when the last of them did
	asked    time.Time     // when an unknown key ID last caused one
	next     time.Time     // when the next one does if nobody asks for one
	failure  error         // why the last one to end failed; nil: it did not
	failures uint64        // of all
	failed   int           // of those since the last good one
	unknown  unknownIDs
	said     string      // what the last line about skipped keys said
	stale    *time.Timer // calls expire once the keys may be too old
}

func newRemoteKeys(use keyUse, cfg JWKSConfig, from source) *remoteKeys {
	r := &remoteKeys{source: from, fetcher: newFetcher(cfg), use: use, cfg: cfg, wake: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.table.Store(&keyTable{})
	r.stale = time.AfterFunc(cfg.MaxStale, r.expire)
	r.stale.Stop() // until there are keys
	return r
}

func (r *remoteKeys) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.done = make(chan struct{}), make(chan struct{})
	go r.run()
}

func (r *remoteKeys) close() {
	r.cancel()
	r.mu.Lock()
	done := r.done
	r.mu.Unlock()
	if done != nil {
		<-done
	}
	r.fetcher.close()
}

func (r *remoteKeys) find(ctx context.Context, t *token) (*key, error) {
	k, err := r.table.Load().find(t.algorithm, t.keyID)
	if err != errKeyID {
		return k, err
	}
	k, wait, err := r.findMissing(t.algorithm, t.keyID)
	if wait == nil {
		return k, err
	}
	if r.await(ctx, wait) {
		k, _, err = r.findMissing(t.algorithm, t.keyID)
	} else if ctx.Err() != nil {
		err = fmt.Errorf("%w: the request ended while it waited: %w", err, ctx.Err())
	}
	return k, err
}

// findMissing judges a token whose key was not there. If a fetch may change the answer, and the caller is the one to wait
// for it, it returns that too.
func (r *remoteKeys) findMissing(alg *algorithm, id string) (*key, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	table := r.table.Load()
	k, err := table.find(alg, id)
	now := time.Now()
	switch {
	case r.ctx.Err() != nil:
		return nil, nil, errKeysClosed
	case r.firstLocked() != nil:
		return nil, r.firstLocked(), unavailable{"the keys were not fetched yet", time.Second}
	case table.byID == nil:
		return nil, nil, unavailable{"the keys cannot be fetched", r.retryLocked(now)}
	case err != errKeyID || id == "":
		return k, nil, err
	}
	absent := r.unknown.ask(id, r.begun) < table.number
	var wait <-chan struct{}
	if r.askLocked(now) {
		wait = r.running
	}
	if absent && r.failure == nil && r.running == nil {
		return nil, nil, errKeyID
	}
	return nil, wait, unavailable{"the key may be a new one", r.retryLocked(now)}
}

// firstLocked returns the very first fetch, nil once it has ended.
func (r *remoteKeys) firstLocked() <-chan struct{} {
	if r.failure != nil || r.table.Load().number > 0 {
		return nil
	}
	return r.running
}

// askLocked asks for a fetch if it is time for one, and reports whether it did. After a failure it is for run to say when.
func (r *remoteKeys) askLocked(now time.Time) bool {
	if r.running != nil || r.failure != nil || now.Before(r.asked.Add(r.cfg.Cooldown)) {
		return false
	}
	r.asked = now
	r.running = make(chan struct{})
	select {
	case r.wake <- struct{}{}:
	default: // run is about to look
	}
	return true
}

// retryLocked returns the time until more may be known of the keys.
func (r *remoteKeys) retryLocked(now time.Time) time.Duration {
	if r.running != nil {
		return time.Second
	}
	at := r.next
	if cooled := r.asked.Add(r.cfg.Cooldown); r.failure == nil && cooled.Before(at) {
		at = cooled
	}
	return max(time.Second, at.Sub(now))
}

// await reports whether a fetch ended in the time that a request may wait for one.
func (r *remoteKeys) await(ctx context.Context, fetch <-chan struct{}) bool {
	timer := time.NewTimer(r.cfg.MaxWait) // which has run out if that is less than 0
	defer timer.Stop()
	select {
	case <-fetch:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (r *remoteKeys) ready(ctx context.Context) error {
	r.mu.Lock()
	first := r.firstLocked()
	r.mu.Unlock()
	if first != nil {
		select {
		case <-first:
		case <-ctx.Done():
			return fmt.Errorf("%v was not fetched yet: %w", r.source, ctx.Err())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	table := r.table.Load()
	switch {
	case r.ctx.Err() != nil:
		return errKeysClosed
	case table.keys > 0:
		return nil
	case r.failure != nil:
		return r.failure
	}
	return fmt.Errorf("%v has no key that can be used: %s", r.source, table.why())
}

func (r *remoteKeys) stats() tenant.IssuerKeyStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.table.Load()
	return tenant.IssuerKeyStats{Keys: t.keys, Skipped: len(t.faults), Fetches: r.begun, Failures: r.failures, Fetched: t.began}
}
