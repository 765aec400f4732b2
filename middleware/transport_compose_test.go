package middleware_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestTransport_ComposesWithTheOneThatTellsTheTenant(t *testing.T) {
	told := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("X-Tenant-Id")) }
	s := serve(t, http.HandlerFunc(told))
	hosts, base := []string{s.URL}, s.Client().Transport
	for name, transport := range map[string]func(middleware.Slots) http.RoundTripper{
		"inside": func(slots middleware.Slots) http.RoundTripper {
			return &middleware.Transport{Slots: slots, Base: &tenant.Transport{Hosts: hosts, Base: base}}
		},
		"outside": func(slots middleware.Slots) http.RoundTripper {
			return &tenant.Transport{Hosts: hosts, Base: &middleware.Transport{Slots: slots, Base: base}}
		},
	} {
		slot := newOneSlot()
		client := &http.Client{Transport: transport(slot)}
		if got := fetch(t, client, outbound(t, as(t, "acme", ""), s.URL, nil)); got != "acme" {
			t.Errorf("%s: the partner was told %q, want acme", name, got)
		}
		slot.awaitReturn(t)
	}
}

// idler is a transport that counts how often its idle connections were closed.
type idler struct {
	http.RoundTripper
	closed int
}

func (i *idler) CloseIdleConnections() { i.closed++ }

func TestTransport_ClosesIdleConnectionsOfBase(t *testing.T) {
	base := &idler{}
	(&http.Client{Transport: &middleware.Transport{Base: base}}).CloseIdleConnections()
	if base.closed != 1 {
		t.Errorf("those of Base were closed %d times, want once", base.closed)
	}
	(&middleware.Transport{Base: roundTripper(answering)}).CloseIdleConnections() // it has none to close
}

func TestTransport_ZeroSendsThroughTheDefaultTransport(t *testing.T) {
	s := serve(t, partner()) // whose Close closes the connections of that transport too
	client := &http.Client{Transport: &middleware.Transport{}}
	if got := fetch(t, client, outbound(t, as(t, "acme", "free"), s.URL+"/hello", nil)); got != "hello" {
		t.Errorf("the partner answered %q", got)
	}
}

// Many callers end their calls in many ways: no more are sent at once than the pool allows, and no slot is lost.
func TestTransport_ManyCallersAtOnceStayWithinTheLimits(t *testing.T) {
	const capacity = 3
	var running, most atomic.Int32
	s := serve(t, partner())
	pool := newBulkhead(t, bulkhead.Config{Capacity: capacity})
	client := &http.Client{Transport: &middleware.Transport{
		Slots: pool,
		Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			now := running.Add(1)
			defer running.Add(-1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			return s.Client().Transport.RoundTrip(r)
		}),
	}}
	paths := []string{"/hello", "/empty", "/status/204", "/aborted", "/refused"}
	seed := rand.Uint64()
	var callers sync.WaitGroup
	for i := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		ctx := as(t, []string{"acme", "globex"}[i%2], "free")
		callers.Go(func() {
			for range 50 {
				resp, err := client.Do(outbound(t, ctx, s.URL+paths[random.IntN(len(paths))], nil))
				if err != nil {
					continue // the partner dropped the connection
				}
				if random.IntN(2) == 0 {
					_, _ = io.Copy(io.Discard, resp.Body)
				}
				resp.Body.Close()
			}
		})
	}
	callers.Wait()
	if n := most.Load(); n > capacity {
		t.Errorf("seed %d: %d calls were sent at once, want at most %d", seed, n, capacity)
	}
	if stats := pool.Stats(); stats.InUse != 0 || stats.Waiting != 0 {
		t.Errorf("seed %d: %d slots in use and %d waiting at the end", seed, stats.InUse, stats.Waiting)
	}
}
