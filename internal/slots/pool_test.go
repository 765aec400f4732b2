package slots_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bothRules = map[string]slots.Rule{"fair": slots.Fair, "hard": slots.Hard}

// eachRule runs a test in virtual time for either rule.
func eachRule(t *testing.T, test func(t *testing.T, rule slots.Rule)) {
	t.Helper()
	for name, rule := range bothRules {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, rule) })
		})
	}
}

func newPool(t testing.TB, s slots.Settings) *slots.Pool {
	t.Helper()
	if s.Tiers == nil {
		s.Tiers = tiersOf(t, tenant.Tier{Name: "std", Share: 2})
	}
	s.Package = "slots"
	p, err := slots.NewPool(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func tiersOf(t testing.TB, tiers ...tenant.Tier) *tenant.Tiers {
	t.Helper()
	ts, err := tenant.NewTiers(tiers[0].Name, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func acquire(t testing.TB, p *slots.Pool, id string) func() {
	t.Helper()
	release, err := p.Acquire(t.Context(), tenant.Tenant{ID: id})
	if err != nil {
		t.Fatalf("Acquire(%s) = %v", id, err)
	}
	return release
}

// later acquires a slot in the background, and returns once that is done or waits. The returned function tells whether
// it has ended, and how.
func later(ctx context.Context, p *slots.Pool, id string) (state func() (release func(), err error, done bool)) {
	var release func()
	var err error
	ended := make(chan struct{})
	go func() {
		release, err = p.Acquire(ctx, tenant.Tenant{ID: id})
		close(ended)
	}()
	synctest.Wait()
	return func() (func(), error, bool) {
		synctest.Wait()
		select {
		case <-ended:
			return release, err, true
		default:
			return nil, nil, false
		}
	}
}

func wantUse(t testing.TB, p *slots.Pool, inUse, waiting int) {
	t.Helper()
	if s := p.Stats(); s.InUse != inUse || s.Waiting != waiting {
		t.Errorf("%d in use, %d waiting; want %d, %d", s.InUse, s.Waiting, inUse, waiting)
	}
}

func wantRefusal(t testing.TB, err error, reason tenant.Reason) {
	t.Helper()
	var r *tenant.Refusal
	if !errors.As(err, &r) || r.Reason != reason {
		t.Errorf("error is %v, want a refusal for %q", err, reason)
	}
}

func TestPool_CancelledWaiterGivesSlotToNext(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		release := acquire(t, p, "a")
		ctx, cancel := context.WithCancel(t.Context())
		first, second := later(ctx, p, "b"), later(t.Context(), p, "c")
		cancel()
		if _, err, done := first(); !done || !errors.Is(err, context.Canceled) {
			t.Fatalf("the cancelled waiter got %v (done: %v), want context.Canceled", err, done)
		}
		wantUse(t, p, 1, 1)
		release()
		got, err, done := second()
		if !done || err != nil {
			t.Fatalf("the next waiter got %v (done: %v), want a slot", err, done)
		}
		got()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_WaitersThatTimedOutGetNoSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: time.Second})
		release := acquire(t, p, "a")
		own, other := later(t.Context(), p, "a"), later(t.Context(), p, "b")
		start := time.Now()
		time.Sleep(time.Second - 1)
		if _, _, done := other(); done {
			t.Fatal("a waiter was answered before MaxWait")
		}
		time.Sleep(time.Nanosecond)
		_, err, _ := own()
		wantRefusal(t, err, tenant.ReasonShare)
		_, err, _ = other()
		wantRefusal(t, err, tenant.ReasonCapacity)
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v, want 1s", waited)
		}
		release()
		acquire(t, p, "c")()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_DeadlineIsRefusedAsMaxWait(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxWait: -1})
		defer acquire(t, p, "a")()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := p.Acquire(ctx, tenant.Tenant{ID: "b"})
		wantRefusal(t, err, tenant.ReasonCapacity)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v does not match context.DeadlineExceeded", err)
		}
		_, err = p.Acquire(ctx, tenant.Tenant{ID: "a"}) // the deadline is over before it comes
		wantRefusal(t, err, tenant.ReasonShare)
		wantUse(t, p, 1, 0)
	})
}

func TestPool_EndedContextTakesNoFreeSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Acquire(ctx, tenant.Tenant{ID: "a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire with a cancelled context = %v, want context.Canceled", err)
		}
		wantUse(t, p, 0, 0)
	})
}

func TestPool_ReleaseTwiceFreesOneSlot(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 2})
		first := acquire(t, p, "a")
		first()
		again := acquire(t, p, "b") // reuses what the first slot was kept in
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(first)
		}
		wg.Wait()
		wantUse(t, p, 1, 0)
		wg.Go(again)
		wg.Go(again)
		wg.Wait()
		wantUse(t, p, 0, 0)
	})
}

func TestPool_OneReleaseWakesOneWaiter(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxQueue: 1000, MaxWait: -1})
		release := acquire(t, p, "holder")
		ctx, cancel := context.WithCancel(t.Context())
		var granted, ended atomic.Int64
		for i := range 1000 {
			go func() {
				if _, err := p.Acquire(ctx, tenant.Tenant{ID: fmt.Sprint("t", i%50)}); err == nil {
					granted.Add(1)
				}
				ended.Add(1)
			}()
		}
		synctest.Wait()
		release()
		synctest.Wait()
		if n := ended.Load(); n != 1 || granted.Load() != 1 {
			t.Errorf("one release woke %d waiters and granted %d slots, want one", n, granted.Load())
		}
		cancel()
		synctest.Wait()
	})
}

func TestPool_QueuesAreBounded(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1, MaxQueue: 3, MaxWaiting: 5})
		defer acquire(t, p, "holder")()
		for range 3 {
			later(t.Context(), p, "flooder")
		}
		synctest.Wait()
		_, err := p.Acquire(t.Context(), tenant.Tenant{ID: "flooder"})
		wantRefusal(t, err, tenant.ReasonShare)
		later(t.Context(), p, "b")
		later(t.Context(), p, "c")
		wantUse(t, p, 1, 5)
		light := later(t.Context(), p, "light") // pushes out the flooder's newest
		if _, err, done := light(); done {
			t.Errorf("the light tenant got %v, want it to wait", err)
		}
		wantUse(t, p, 1, 5)
		for _, s := range p.Stats().Tenants {
			if want := map[string]int{"flooder": 2, "b": 1, "c": 1, "light": 1}[s.ID]; s.Waiting != want {
				t.Errorf("%s has %d waiting, want %d", s.ID, s.Waiting, want)
			}
		}
		p.Close()
	})
}

func TestPool_NegativeBoundsLetNobodyWait(t *testing.T) {
	for _, s := range []slots.Settings{{MaxQueue: -1}, {MaxWaiting: -1}} {
		s.Capacity = 1
		p := newPool(t, s)
		defer acquire(t, p, "a")()
		_, err := p.Acquire(t.Context(), tenant.Tenant{ID: "b"})
		wantRefusal(t, err, tenant.ReasonCapacity)
		if _, ok := p.TryAcquire(tenant.Tenant{ID: "b"}); ok {
			t.Error("TryAcquire took a slot of a full pool")
		}
	}
}

func TestPool_ResizeDrains(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 8, Tiers: tiersOf(t, tenant.Tier{Name: "std", Share: 8})})
		var held []func()
		for range 5 {
			held = append(held, acquire(t, p, "a"))
		}
		if err := p.Resize(1); err != nil {
			t.Fatal(err)
		}
		first, second := later(t.Context(), p, "b"), later(t.Context(), p, "b")
		for i, release := range held {
			if _, _, done := first(); done {
				t.Fatalf("a slot was granted with %d held at capacity 1", len(held)-i)
			}
			release()
		}
		release, err, _ := first()
		if err != nil || release == nil {
			t.Fatal("drained, but the first waiter got no slot", err)
		}
		if _, _, done := second(); done {
			t.Fatal("two slots were granted at capacity 1")
		}
		if err := p.Resize(2); err != nil {
			t.Fatal(err)
		}
		if _, err, done := second(); !done || err != nil {
			t.Fatal("capacity 2, but the second waiter got no slot", err)
		}
		for _, n := range []int{0, -1} {
			if err := p.Resize(n); err == nil || !strings.Contains(err.Error(), "Capacity") {
				t.Errorf("Resize(%d) = %v, want an error that names Capacity", n, err)
			}
		}
	})
}

func TestPool_DrainWaitsForHoldersAndWaiters(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		release := acquire(t, p, "a")
		waiter := later(t.Context(), p, "b")
		drained := make(chan error, 1)
		go func() { drained <- p.Drain(context.Background()) }()
		synctest.Wait()
		_, err := p.Acquire(t.Context(), tenant.Tenant{ID: "c"})
		wantRefusal(t, err, tenant.ReasonClosing)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain while a slot is held = %v, want context.DeadlineExceeded", err)
		}
		release()
		next, err, _ := waiter()
		if err != nil {
			t.Fatalf("the waiter got %v while draining, want a slot", err)
		}
		select {
		case err := <-drained:
			t.Fatalf("Drain returned %v with a slot held", err)
		default:
		}
		next()
		if err := <-drained; err != nil {
			t.Errorf("Drain = %v", err)
		}
		if err := p.Drain(ctx); err != nil {
			t.Errorf("Drain of a drained pool = %v", err)
		}
	})
}

func TestPool_CloseAnswersAllWaiters(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 1})
		release := acquire(t, p, "a")
		waiters := []func() (func(), error, bool){later(t.Context(), p, "a"), later(t.Context(), p, "b")}
		p.Close()
		p.Close()
		for _, w := range waiters {
			_, err, _ := w()
			wantRefusal(t, err, tenant.ReasonClosing)
		}
		release()
		if err := p.Drain(t.Context()); err != nil {
			t.Errorf("Drain = %v", err)
		}
	})
}

func TestPool_ChangesOfTierTakeEffectAtOnce(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		tiers := tiersOf(t, tenant.Tier{Name: "small", Share: 1, Ceiling: 1}, tenant.Tier{Name: "big", Share: 3, Ceiling: 3})
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 8, Tiers: tiers})
		defer acquire(t, p, "a")()
		second, third := later(t.Context(), p, "a"), later(t.Context(), p, "a")
		wantUse(t, p, 1, 2)
		if err := tiers.Define(tenant.Tier{Name: "small", Share: 1, Ceiling: 2}); err != nil {
			t.Fatal(err)
		}
		if rule == slots.Hard { // ignores the ceiling
			wantUse(t, p, 1, 2)
			if err := tiers.Define(tenant.Tier{Name: "small", Share: 2}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err, done := second(); !done || err != nil {
			t.Fatalf("the tier has room for two, but the second got %v (done: %v)", err, done)
		}
		if err := tiers.Assign("a", "big"); err != nil {
			t.Fatal(err)
		}
		if _, err, done := third(); !done || err != nil {
			t.Fatalf("assigned a tier of three, but the third got %v (done: %v)", err, done)
		}
		if err := tiers.Define(tenant.Tier{Name: "big", Share: 0}); err == nil || !strings.Contains(err.Error(), "big: Share") {
			t.Errorf("Define of a tier without share = %v, want an error that names tier and field", err)
		}
	})
}

func TestPool_OlderAssertionDoesNotChangeTheTierBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, slots.Settings{Capacity: 8, Tiers: tiersOf(t,
			tenant.Tier{Name: "free", Share: 1, Ceiling: 1}, tenant.Tier{Name: "pro", Share: 2, Ceiling: 2})})
		now := time.Now()
		for _, who := range []tenant.Tenant{
			{ID: "a", Tier: "pro", TierAsOf: now}, {ID: "a", Tier: "free", TierAsOf: now.Add(-time.Hour)},
		} {
			release, ok := p.TryAcquire(who)
			if !ok {
				t.Fatalf("%v with iat %v got no slot", who, who.TierAsOf)
			}
			defer release()
			if got := p.TierOf(who); got != "pro" {
				t.Errorf("tier is %s, want pro", got)
			}
		}
	})
}

func TestNewPool_NamesWhatIsWrong(t *testing.T) {
	_, err := slots.NewPool(slots.Settings{Package: "fairslots"})
	for _, want := range []string{"fairslots: Capacity is 0", "fairslots: Tiers is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to contain %q", err, want)
		}
	}
	_, err = slots.NewPool(slots.Settings{Package: "bulkhead", Capacity: 1, Tiers: tiersOf(t,
		tenant.Tier{Name: "free"}, tenant.Tier{Name: "pro"})})
	for _, want := range []string{"bulkhead: tier free: Share is 0", "bulkhead: tier pro: Share is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to contain %q", err, want)
		}
	}
}

func TestPool_RefusesAnInvalidID(t *testing.T) {
	p := newPool(t, slots.Settings{Capacity: 1})
	for _, id := range []string{"", "../x", "a b", "__other__"} {
		if _, err := p.Acquire(t.Context(), tenant.Tenant{ID: id}); !errors.Is(err, tenant.ErrInvalidID) {
			t.Errorf("Acquire(%q) = %v, want ErrInvalidID", id, err)
		}
		if _, ok := p.TryAcquire(tenant.Tenant{ID: id}); ok {
			t.Errorf("TryAcquire(%q) took a slot", id)
		}
	}
	if len(p.Stats().Tenants) > 0 {
		t.Error("an invalid ID is remembered")
	}
	acquire(t, p, tenant.AnonymousID)()
}

// Everything at once, for the race detector: whatever happens, nothing is in use at the end and nobody hangs.
func TestPool_StressEndsWithNothingInUse(t *testing.T) {
	eachRule(t, func(t *testing.T, rule slots.Rule) {
		tiers := tiersOf(t, tenant.Tier{Name: "s1", Share: 1}, tenant.Tier{Name: "s2", Share: 2, Ceiling: 4}, tenant.Tier{Name: "s5", Share: 5})
		p := newPool(t, slots.Settings{Rule: rule, Capacity: 6, Tiers: tiers, MaxQueue: 5, MaxWaiting: 20, MaxWait: 30 * time.Millisecond})
		var running, most atomic.Int64
		var wg sync.WaitGroup
		for g := range 40 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 7))
				for range 60 {
					work(p, rng, &running, &most)
				}
			})
		}
		for range 100 {
			time.Sleep(7 * time.Millisecond)
			_ = p.Resize(2 + rand.IntN(5))
			_ = tiers.Assign(fmt.Sprint("t", rand.IntN(8)), []string{"s1", "s2", "s5"}[rand.IntN(3)])
			_ = tiers.Define(tenant.Tier{Name: "s2", Share: 2, Ceiling: 2 + rand.IntN(4)})
			p.Stats()
		}
		wg.Wait()
		wantUse(t, p, 0, 0)
		if n := most.Load(); n > 6 {
			t.Errorf("%d ran at once, capacity never exceeded 6", n)
		}
	})
}

// work is one request that may be cancelled, time out, panic, or release twice.
func work(p *slots.Pool, rng *rand.Rand, running, most *atomic.Int64) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rng.IntN(40))*time.Millisecond)
	defer cancel()
	if rng.IntN(4) == 0 {
		time.AfterFunc(time.Duration(rng.IntN(20))*time.Millisecond, cancel)
	}
	who := tenant.Tenant{ID: fmt.Sprint("t", rng.IntN(8)), Tier: []string{"s1", "s2", "s5"}[rng.IntN(3)]}
	var release func()
	var err error
	if rng.IntN(5) == 0 {
		var ok bool
		if release, ok = p.TryAcquire(who); !ok {
			return
		}
	} else if release, err = p.Acquire(ctx, who); err != nil {
		time.Sleep(time.Millisecond)
		return
	}
	defer func() { _ = recover() }()
	defer release()
	n := running.Add(1)
	for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
	}
	time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
	running.Add(-1)
	switch rng.IntN(5) {
	case 0:
		panic("a handler's")
	case 1:
		go release()
	}
}

func TestPool_GivesBackTheMemoryOfIdleTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tenants = 1_000_000
		p := newPool(t, slots.Settings{Capacity: 10})
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		for i := range tenants {
			release, ok := p.TryAcquire(tenant.Tenant{ID: "t" + strconv.Itoa(i)})
			if !ok {
				t.Fatal("no slot")
			}
			release()
		}
		full := heap()
		if n := len(p.Stats().Tenants); n != tenants {
			t.Fatalf("%d tenants are remembered, want %d", n, tenants)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		after := heap()
		if n := len(p.Stats().Tenants); n != 0 {
			t.Errorf("%d tenants are remembered after ten idle seconds", n)
		}
		if after > before+(full-before)/50 {
			t.Errorf("heap: %d MiB before, %d with a million tenants, %d after they were idle for ten seconds",
				before>>20, full>>20, after>>20)
		}
	})
}
