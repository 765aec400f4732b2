package redisquota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
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
	log    *slog.Logger                // with what says which server it is
	try    func(context.Context) error // whether it answers again

	cutOff   atomic.Pointer[error] // why nothing is asked of it; nil: closed
	failures atomic.Int32          // in a row

	mu     sync.Mutex
	timer  *time.Timer // of the next probe; nil: closed
	probed bool        // in vain, since it is open
	closed bool        // for good: no more probes
}

// errCutOff is why nothing is asked of a server that was found dead.
var errCutOff = errors.New("redisquota: Redis is not asked, as calls failed, but tried again every 250ms")

// open returns why nothing is to be asked of the server. nil: it is.
func (b *breaker) open() error {
	if err := b.cutOff.Load(); err != nil {
		return *err
	}
	return nil
}

// because opens the breaker, or says why it stays open.
func (b *breaker) because(err error) {
	err = fmt.Errorf("%w: %w", errCutOff, err)
	b.cutOff.Store(&err)
}

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
	if b.open() != nil || b.closed {
		return
	}
	b.because(err)
	b.counts.changes.Add(1)
	b.log.Warn("redisquota: limits are not shared", "error", err)
	b.probed = false
	b.timer = time.AfterFunc(probeEvery, b.probe)
}

// probe tries the server, and closes the breaker where it does what it is asked. A first probe that fails may know better
// why, for it had more time.
func (b *breaker) probe() {
	err := b.try(context.Background())
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if err != nil {
		b.because(err)
		if !b.probed {
			b.probed = true
			b.log.Warn("redisquota: nor does a probe succeed", "error", err)
		}
		b.timer.Reset(probeEvery)
		return
	}
	b.timer = nil
	b.failures.Store(0)
	b.cutOff.Store(nil)
	b.counts.changes.Add(1)
	b.log.Info("redisquota: limits are shared again")
}

// try connects, which may take longer than a decision may wait, and has the script make a decision, which may not: about
// nobody, so that all is tried that a decision needs.
func (l *lane) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeMost)
	defer cancel()
	var reply redis.Error // an answer, whatever it says
	if err := l.of.WithTimeout(probeMost).Ping(ctx).Err(); err != nil && !errors.As(err, &reply) {
		l.store.lanes.forget(ctx, l)
		return err
	}
	for range 2 { // the second changes what the first wrote, which takes another command
		if err := l.decideAboutNobody(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) decideAboutNobody(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.store.cfg.Timeout)
	defer cancel()
	op := operation{kind: take, tenant: probeID, call: &quota.Call{Tenant: probeID, Cost: 1}}
	var r request
	r.init(l.store, &quota.Rules{Tiers: probeTiers})
	r.add(&op)
	cmds := []command{newCommand(ctx, &r)}
	l.process(ctx, cmds)
	err := cmds[0].Err()
	if l.store.cluster != nil && moved(err) {
		return nil // the server knows who decides about that key, and so decides itself about others
	}
	if err == nil {
		err = r.read(cmds[0].Val())
	}
	return err
}

// probeID stands for a tenant's where a server is tried; no tenant can have it.
const probeID = "_probe"

var probeTiers = func() *tenant.Tiers {
	tiers, err := tenant.NewTiers("probe", tenant.Tier{Name: "probe", Rate: 1000, Burst: 1000})
	if err != nil {
		panic(err)
	}
	return tiers
}()

// stop ends the probes.
func (b *breaker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
