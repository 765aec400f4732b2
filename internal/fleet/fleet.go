package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// fleet is a Redis, the replicas that share it, and a look at it from outside.
type fleet struct {
	dir      string
	secret   []byte
	redis    *redistest.Server
	replicas [replicas]*process // nil: killed
	said     [replicas]*bytes.Buffer
	client   *redis.Client
	store    *countingStore
	limiter  *quota.Limiter // asks only for the usage
}

// startFleet starts a fleet with its files in dir. Close ends it in any case; so does the end of ctx, but for Redis.
func startFleet(ctx context.Context, dir string) (f *fleet, err error) {
	f = &fleet{dir: dir, secret: make([]byte, 32)}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	rand.Read(f.secret)
	data := filepath.Join(dir, "redis")
	if err := os.Mkdir(data, 0o700); err != nil {
		return f, err
	}
	// What it has answered it must not forget, however it ends.
	if f.redis, err = redistest.Launch(data, "--appendonly", "yes", "--appendfsync", "always"); err != nil {
		return f, err
	}
	tiers, err := newTiers()
	if err != nil {
		return f, err
	}
	f.client = redis.NewClient(&redis.Options{Addr: f.redis.Addr()})
	if f.store, f.limiter, err = newLimiter(f.client, tiers); err != nil {
		return f, err
	}
	for i := range replicas {
		f.said[i] = &bytes.Buffer{}
		if err := f.start(ctx, i); err != nil {
			return f, err
		}
	}
	return f, nil
}

// start starts replica i, also again.
func (f *fleet) start(ctx context.Context, i int) (err error) {
	cfg := replicaConfig{Redis: f.redis.Addr(), AccessLog: f.accessLog(i), Secret: f.secret}
	f.replicas[i], err = startReplica(ctx, cfg, f.said[i])
	if err != nil {
		err = fmt.Errorf("%w; it said:\n%s", err, f.said[i])
	}
	return err
}

func (f *fleet) accessLog(i int) string { return filepath.Join(f.dir, fmt.Sprintf("access-%d.log", i)) }

// kill kills replica i.
func (f *fleet) kill(i int) {
	f.replicas[i].kill()
	f.replicas[i] = nil
}

// stop has the replicas that live end in order, all at once.
func (f *fleet) stop() error {
	var wg sync.WaitGroup
	var errs [replicas]error
	for i, p := range f.replicas {
		if p == nil {
			continue
		}
		f.replicas[i] = nil
		wg.Go(func() {
			if err := p.stop(); err != nil {
				errs[i] = fmt.Errorf("replica %d: %w; it said:\n%s", i, err, f.said[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// close ends what runs, in whatever way.
func (f *fleet) close() {
	for i, p := range f.replicas {
		if p != nil {
			f.kill(i)
		}
	}
	if f.limiter != nil {
		f.limiter.Close()
		_ = f.store.Close() // holds nothing
	}
	if f.client != nil {
		_ = f.client.Close() // likewise
	}
	if f.redis != nil {
		f.redis.Kill()
	}
}

// stats returns what each replica that lives says of itself.
func (f *fleet) stats(ctx context.Context) ([]replicaStats, error) {
	var all []replicaStats
	for i, p := range f.replicas {
		if p == nil {
			continue
		}
		s, err := p.stats(ctx)
		if err != nil {
			return nil, fmt.Errorf("replica %d: %w", i, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// total returns the sum of what the replicas say.
func (f *fleet) total(ctx context.Context) (sum replicaStats, err error) {
	all, err := f.stats(ctx)
	for _, s := range all {
		sum.Alone += s.Alone
		sum.Calls += s.Calls
		sum.Decisions += s.Decisions
		sum.Failures += s.Failures
		sum.InDoubt += s.InDoubt
		sum.Overrun += s.Overrun
		sum.LostRefunds += s.LostRefunds
	}
	return sum, err
}

// log returns the access logs of all replicas together.
func (f *fleet) log() ([]entry, error) {
	var all []entry
	for i := range replicas {
		log, err := readAccessLog(f.accessLog(i))
		if err != nil {
			return nil, err
		}
		all = append(all, log...)
	}
	return all, nil
}

// usage returns what Redis has of a tenant's daily quota, and of the monthly where its plan has one.
func (f *fleet) usage(ctx context.Context, t tenant.Tenant) (map[string]quota.Usage, error) {
	all, err := f.limiter.Usage(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("usage of %s: %w", t.ID, err)
	}
	used := map[string]quota.Usage{}
	for _, u := range all {
		used[u.Policy] = u
	}
	return used, nil
}

// awaitDay returns at once, unless a run of so long would see midnight (UTC), when usage begins anew: then it waits for
// that.
func awaitDay(ctx context.Context, run time.Duration) error {
	left := time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour))
	if left > run {
		return nil
	}
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
