package middleware_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
)

// Real clients that come, send bodies, lose patience and leave, to handlers that panic and hijack: what the server was
// asked is what the gate counted, and never do more handlers run than there are slots.
func TestServer_CountsWhatItServesWhateverTheClientsDo(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			const capacity = 4
			var came, observed, running atomic.Int64
			var serving sync.WaitGroup
			slots := newPool(t, fairslots.Config{Capacity: capacity, MaxQueue: 10, MaxWait: 50 * time.Millisecond})
			g := newGate(t, middleware.Config{
				Resolver: named, Quota: newLimiter(t, quota.Config{}), Slots: slots,
				Observe: func(*http.Request, middleware.Outcome) { observed.Add(1) },
			})
			chain := g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n := running.Add(1); n > capacity {
					t.Errorf("%d handlers run on %d slots", n, capacity)
				}
				defer running.Add(-1)
				misbehave(w, r)
			}))
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				came.Add(1)
				serving.Add(1)
				defer serving.Done()
				chain.ServeHTTP(w, r)
			}), func(s *httptest.Server) {
				s.EnableHTTP2 = http2
				s.Config.ErrorLog = log.New(io.Discard, "", 0)
			})
			var clients sync.WaitGroup
			for seed := range uint64(20) {
				clients.Go(func() { hurry(t.Context(), s, rand.New(rand.NewPCG(seed, 1))) })
			}
			clients.Wait()
			s.Client().CloseIdleConnections()
			s.Close()
			serving.Wait() // over HTTP/2 Close does not
			if got, want := value(t, g, "tenantgate_requests_total"), float64(came.Load()); got != want || float64(observed.Load()) != want {
				t.Errorf("%v requests counted, %d observed, want %v", got, observed.Load(), want)
			}
			checkCalm(t, g, slots)
			checkSums(t, g)
		})
	}
}

// misbehave is a handler that ends as its request's path says.
func misbehave(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	switch r.URL.Path {
	case "/panic":
		panic(http.ErrAbortHandler)
	case "/hijack":
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil { // HTTP/2 has no such thing
			conn.Close()
		}
	}
	fmt.Fprint(w, "done")
}

// hurry is a client that waits for no answer longer than a few milliseconds.
func hurry(ctx context.Context, s *httptest.Server, rng *rand.Rand) {
	for range 25 {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(1+rng.IntN(60))*time.Millisecond)
		method, body := http.MethodGet, io.Reader(nil)
		if rng.IntN(3) == 0 {
			method, body = http.MethodPost, strings.NewReader(strings.Repeat("x", rng.IntN(300_000)))
		}
		path := []string{"/", "/panic", "/hijack"}[rng.IntN(3)]
		if r, err := http.NewRequestWithContext(ctx, method, s.URL+path, body); err == nil {
			r.Header.Set("Authorization", fmt.Sprintf("Name t%d unlimited", rng.IntN(5)))
			if answer, err := s.Client().Do(r); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}
		cancel()
	}
}
