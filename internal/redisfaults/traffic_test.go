package redisfaults_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	callers = 32
	tenants = 8
)

// traffic has many goroutines take for some tenants, and counts what was served to each.
type traffic struct {
	*replica
	served [tenants]atomic.Int64
	total  atomic.Int64
	all    sync.WaitGroup
	stop   context.CancelFunc
}

// start begins to take, until end is called or the test ends.
func start(r *replica) *traffic {
	ctx, stop := context.WithCancel(r.t.Context())
	f := &traffic{replica: r, stop: stop}
	r.t.Cleanup(f.end)
	for caller := range callers {
		f.all.Go(func() {
			for i := caller; ctx.Err() == nil; i++ {
				if r.take(f.tenant(i)).Allowed {
					f.served[i%tenants].Add(1)
				}
				f.total.Add(1)
				runtime.Gosched() // lest a decision that costs nothing keeps the network's goroutines from running
			}
		})
	}
	return f
}

func (f *traffic) tenant(i int) string { return fmt.Sprintf("tenant-%d", i%tenants) }

// flow waits until so many more decisions were made.
func (f *traffic) flow(decisions int64) {
	f.t.Helper()
	until := f.total.Load() + decisions
	eventually(f.t, "decisions are made", func() bool { return f.total.Load() >= until })
}

func (f *traffic) end() {
	f.stop()
	f.all.Wait()
}

// settle waits until everything that was served is counted, and closes the store, which counts the last of it.
func (f *traffic) settle() {
	f.t.Helper()
	eventually(f.t, "what was served without the server is counted", func() bool {
		for i := range tenants {
			if f.used(f.tenant(i)) < f.served[i].Load() {
				return false
			}
		}
		return f.store.Stats().Shared
	})
	if err := f.store.Close(); err != nil {
		f.t.Error(err)
	}
}

// mustAgree checks that what Redis has counted is what was served, but for the calls in doubt: each may have been charged
// without being served, once.
func (f *traffic) mustAgree() {
	f.t.Helper()
	var served, charged int64
	for i := range tenants {
		s, u := f.served[i].Load(), f.used(f.tenant(i))
		if u < s {
			f.t.Errorf("%s: %d used, %d served: %d were served and not charged", f.tenant(i), u, s, s-u)
		}
		served, charged = served+s, charged+u
	}
	stats := f.store.Stats()
	f.t.Logf("%d decisions, %d served, %d charged: %d charged in vain, of %d in doubt; %+v",
		f.total.Load(), served, charged, charged-served, stats.InDoubt, stats)
	if inVain := charged - served; inVain > int64(stats.InDoubt) {
		f.t.Errorf("%d were charged in vain, more than the %d in doubt", inVain, stats.InDoubt)
	}
}
