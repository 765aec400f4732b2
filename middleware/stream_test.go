package middleware_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/tenant"
)

// stream is a handler that becomes a stream and stays one until it may end.
func stream(end <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := middleware.Stream(r.Context()); err != nil {
			middleware.Refuse(w, r, err)
			return
		}
		<-end
	})
}

// mustStream makes the request of ctx a stream.
func mustStream(t *testing.T, ctx context.Context) {
	t.Helper()
	if err := middleware.Stream(ctx); err != nil {
		t.Errorf("Stream: %v", err)
	}
}

func TestStream_FreesTheSlotAndCountsUntilTheHandlerReturns(t *testing.T) {
	for name, with := range map[string]func(*testing.T) middleware.Slots{
		"fairslots": func(t *testing.T) middleware.Slots { return newPool(t, fairslots.Config{Capacity: 1}) },
		"bulkhead":  func(t *testing.T) middleware.Slots { return newBulkhead(t, bulkhead.Config{Capacity: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slots := with(t)
				g := newGate(t, middleware.Config{Resolver: named, Slots: slots})
				check := func(inUse, streams int) {
					t.Helper()
					if st := slots.Stats(); st.InUse != inUse || st.Streams != streams {
						t.Errorf("%d slots and %d streams in use, want %d and %d", st.InUse, st.Streams, inUse, streams)
					}
				}
				end := make(chan struct{})
				h := g.Handler(inside(func(ctx context.Context) {
					check(1, 0)
					mustStream(t, ctx)
					mustStream(t, ctx) // does nothing
					check(0, 1)
					if middleware.Release(ctx) {
						t.Error("Release of a stream gave a slot back")
					}
					check(0, 1)
					<-end
				}))
				go get(h, "acme free", "/")
				synctest.Wait()
				check(0, 1)
				if w := get(g.Handler(ok), "acme free", "/"); w.Code != 200 {
					t.Errorf("a request beside the stream: %d", w.Code)
				}
				close(end)
				synctest.Wait()
				check(0, 0)
				checkCalm(t, g, slots)
			})
		})
	}
}

func TestStream_RefusedMayTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 1)
		end := make(chan struct{})
		go get(s.Handler(stream(end)), "acme", "/")
		synctest.Wait()
		expect(t, t.Context(), s.Handler(inside(func(ctx context.Context) {
			if err := middleware.Stream(ctx); err == nil {
				t.Error("Stream: no error")
			}
			close(end)
			synctest.Wait()
			mustStream(t, ctx)
			s.checkUse(t, 0, 1)
		})), "acme", 200)
		s.check(t, 2, 2)
	})
}

func TestStream_OfEveryGateOrOfNone(t *testing.T) {
	for name, allows := range map[string][2]bool{"both": {true, true}, "outer": {true, false}, "inner": {false, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				outer, inner := newSmall(t, 1), newSmall(t, 1)
				end := make(chan struct{})
				for i, s := range []*small{outer, inner} {
					if !allows[i] { // its one stream is in use
						go get(s.Handler(stream(end)), "acme", "/")
					}
				}
				synctest.Wait()
				expect(t, t.Context(), outer.Handler(inner.Handler(inside(func(ctx context.Context) {
					err := middleware.Stream(ctx)
					if moved := allows[0] && allows[1]; moved != (err == nil) {
						t.Errorf("Stream: %v", err)
					} else if moved {
						outer.checkUse(t, 0, 1)
						inner.checkUse(t, 0, 1)
						return
					}
					for i, s := range []*small{outer, inner} {
						if streams := s.slots.Stats().Streams; s.slots.Stats().InUse != 1 || allows[i] != (streams == 0) {
							t.Errorf("gate %d has %d slots and %d streams in use", i, s.slots.Stats().InUse, streams)
						}
					}
				}))), "acme", 200)
				close(end)
				synctest.Wait()
				outer.checkUse(t, 0, 0)
				inner.checkUse(t, 0, 0)
			})
		})
	}
}

func TestStream_EndsHoweverTheHandlerDoes(t *testing.T) {
	for name, ending := range map[string]func(){
		"return": func() {}, "panic": func() { panic("boom") }, "abort": func() { panic(http.ErrAbortHandler) },
		"exit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSmall(t, 1)
				for range 2 {
					go func() {
						defer func() { _ = recover() }()
						get(s.Handler(s.Handler(inside(func(ctx context.Context) {
							mustStream(t, ctx)
							s.checkUse(t, 0, 1)
							ending()
						}))), "acme", "/")
					}()
					synctest.Wait()
				}
				s.check(t, 2, 2)
			})
		})
	}
}

func TestStream_TierChangesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := plans(t)
		slots := newPool(t, fairslots.Config{Capacity: 4, Tiers: tiers})
		g := newGate(t, middleware.Config{Resolver: named, Slots: slots})
		var ends []chan struct{}
		open := func() {
			ends = append(ends, make(chan struct{}))
			go get(g.Handler(stream(ends[len(ends)-1])), "acme pro", "/")
			synctest.Wait()
		}
		assign := func(tier string) {
			if err := tiers.Assign("acme", tier); err != nil {
				t.Fatal(err)
			}
		}
		refused := func(reason string) {
			t.Helper()
			if w := get(g.Handler(stream(nil)), "acme pro", "/"); problemOf(t, w).Reason != reason {
				t.Errorf("a stream more: %s, want a refusal for %s", w.Body, reason)
			}
		}
		open()
		open()
		refused("share")
		assign("free") // one stream
		if n := slots.Stats().Streams; n != 2 {
			t.Errorf("%d streams after a downgrade, want both that ran", n)
		}
		refused("share")
		close(ends[0])
		synctest.Wait()
		refused("share")
		assign("daily") // none
		refused("plan")
		assign("pro")
		open()
		if n := value(t, g, "tenantgate_tenant_streams", "tenant", "acme"); n != 2 {
			t.Errorf("%v streams after an upgrade, want 2", n)
		}
		close(ends[1])
		close(ends[2])
		synctest.Wait()
		checkCalm(t, g, slots)
	})
}

func TestStream_DrainNeitherWaitsForItNorLetsItBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSmall(t, 2)
		end := make(chan struct{})
		late := make(chan struct{})
		go get(s.Handler(stream(end)), "acme", "/")
		go get(s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-late
			if refusal, ok := errors.AsType[*tenant.Refusal](middleware.Stream(r.Context())); !ok || refusal.Reason != tenant.ReasonClosing {
				t.Errorf("Stream while the gate drains: %v", refusal)
			}
		})), "globex", "/")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain while a request runs: %v", err)
		}
		close(late)
		start := time.Now()
		if err := s.Drain(t.Context()); err != nil || time.Since(start) != 0 {
			t.Errorf("Drain while a stream runs: %v after %v", err, time.Since(start))
		}
		s.checkUse(t, 0, 1)
		close(end)
		synctest.Wait()
		s.checkUse(t, 0, 0)
	})
}

func TestStream_ConcurrentCallsMakeOneStream(t *testing.T) {
	s := newSmall(t, 1)
	for range 200 {
		get(s.Handler(inside(func(ctx context.Context) {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { mustStream(t, ctx) })
			}
			wg.Wait()
			if st := s.slots.Stats(); st.Streams != 1 || st.InUse != 0 {
				t.Errorf("%d streams and %d slots in use, want 1 and 0", st.Streams, st.InUse)
			}
		})), "acme pro", "/")
	}
	s.checkUse(t, 0, 0)
}

// slowStreams is a pool that takes a second to let a stream begin.
type slowStreams struct {
	slotsFunc
	streams *atomic.Int64
}

func (s slowStreams) AcquireStream(tenant.Tenant) (func(), error) {
	time.Sleep(time.Second)
	s.streams.Add(1)
	return func() { s.streams.Add(-1) }, nil
}

func TestStream_BegunByAHandlerThatHasReturnedIsOver(t *testing.T) {
	for name, mount := range map[string]func(*middleware.Gate, http.Handler) http.Handler{
		"on a slot":     (*middleware.Gate).Handler,
		"before a slot": (*middleware.Gate).Tenant,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := slowStreams{refusing(nil), new(atomic.Int64)}
				g := newGate(t, middleware.Config{Resolver: named, Slots: pool})
				get(mount(g, inside(func(ctx context.Context) {
					go func() { _ = middleware.Stream(ctx) }()
					time.Sleep(time.Millisecond)
				})), "acme", "/")
				time.Sleep(time.Minute)
				if n := pool.streams.Load(); n != 0 {
					t.Errorf("%d streams go on", n)
				}
				checkCalm(t, g, nil)
			})
		})
	}
}
