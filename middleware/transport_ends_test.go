package middleware_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/tenant"
)

// oneSlot is a pool whose slot is lent once; given receives whenever it comes back.
type oneSlot struct{ given chan struct{} }

func newOneSlot() *oneSlot { return &oneSlot{given: make(chan struct{}, 10)} }

func (s *oneSlot) Acquire(context.Context, tenant.Tenant) (func(), error) {
	return func() { s.given <- struct{}{} }, nil
}

func (*oneSlot) Stats() tenant.SlotStats { return tenant.SlotStats{Capacity: 1} }

// awaitReturn waits until the slot has come back.
func (s *oneSlot) awaitReturn(t *testing.T) {
	t.Helper()
	select {
	case <-s.given:
	case <-time.After(patience):
		t.Fatal("the slot does not come back")
	}
}

// partner answers each path in a way of its own.
func partner() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/empty", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/status/204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/status/304", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/aborted", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/refused", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	return mux
}

func TestTransport_SlotComesBackOnceHoweverTheCallEnds(t *testing.T) {
	readAll := func(resp *http.Response) { _, _ = io.Copy(io.Discard, resp.Body) }
	closeIt := func(resp *http.Response) { resp.Body.Close() }
	for _, c := range []struct {
		name, method, path string
		atOnce             bool // before the caller has done anything
		end                func(resp *http.Response, cancel func())
	}{
		{"read to its end", "GET", "/hello", false, func(resp *http.Response, _ func()) { readAll(resp) }},
		{"read to its end in pieces", "GET", "/hello", false, func(resp *http.Response, _ func()) {
			_ = iotest.TestReader(resp.Body, []byte("hello"))
		}},
		{"closed unread", "GET", "/hello", false, func(resp *http.Response, _ func()) { closeIt(resp) }},
		{"closed twice", "GET", "/hello", false, func(resp *http.Response, _ func()) { closeIt(resp); closeIt(resp) }},
		{"read and closed", "GET", "/hello", false, func(resp *http.Response, _ func()) { readAll(resp); closeIt(resp) }},
		{"read beyond its end", "GET", "/hello", false, func(resp *http.Response, _ func()) { readAll(resp); readAll(resp) }},
		{"closed early", "GET", "/endless", false, func(resp *http.Response, _ func()) { closeIt(resp) }},
		{"error amid the body", "GET", "/aborted", false, func(resp *http.Response, _ func()) { readAll(resp) }},
		{"cancelled and forgotten", "GET", "/endless", false, func(_ *http.Response, cancel func()) { cancel() }},
		{"cancelled and closed", "GET", "/endless", false, func(resp *http.Response, cancel func()) {
			cancel()
			closeIt(resp)
		}},
		{"cancelled while it is read", "GET", "/endless", false, func(resp *http.Response, cancel func()) {
			_, _ = io.ReadFull(resp.Body, make([]byte, 5))
			cancel()
			readAll(resp)
		}},
		{"without a body", "GET", "/empty", true, nil},
		{"HEAD", "HEAD", "/hello", true, nil},
		{"no content", "GET", "/status/204", true, nil},
		{"not modified", "GET", "/status/304", true, nil},
		{"no answer", "GET", "/refused", true, nil},
	} {
		for name, configure := range map[string]func(*httptest.Server){
			"HTTP1": func(*httptest.Server) {}, "HTTP2": func(s *httptest.Server) { s.EnableHTTP2 = true },
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				s := serve(t, partner(), configure)
				slot := newOneSlot()
				client := &http.Client{Transport: &middleware.Transport{Slots: slot, Base: s.Client().Transport}}
				ctx, cancel := context.WithCancel(as(t, "acme", "free"))
				defer cancel()
				r := outbound(t, ctx, s.URL+c.path, nil)
				r.Method = c.method
				resp, err := client.Do(r)
				if err == nil {
					defer resp.Body.Close()
				}
				if back := len(slot.given) == 1; back != c.atOnce {
					t.Errorf("once there was an answer (error %v) the slot was back: %t, want %t", err, back, c.atOnce)
				}
				if c.end != nil {
					c.end(resp, cancel)
				}
				slot.awaitReturn(t)
				if err == nil {
					resp.Body.Close()
				}
				cancel()
				if n := len(slot.given); n != 0 {
					t.Errorf("the slot came back %d times more", n)
				}
			})
		}
	}
}

func TestTransport_SlotComesBackAtOnceWhereBaseHasNothingToRead(t *testing.T) {
	unread := func(status int) *http.Response { return &http.Response{StatusCode: status, Body: &closing{}} }
	type result struct {
		resp *http.Response
		err  error
	}
	for name, base := range map[string]func() result{
		"fails":                    func() result { return result{nil, errBroken} },
		"fails and answers":        func() result { return result{unread(200), errBroken} },
		"panics":                   func() result { panic(errBroken) },
		"returns nothing":          func() result { return result{} },
		"returns no body":          func() result { return result{resp: &http.Response{StatusCode: 200}} },
		"returns an empty body":    func() result { return result{resp: &http.Response{StatusCode: 200, Body: http.NoBody}} },
		"returns a body for a 204": func() result { return result{resp: unread(204)} },
		"switches without a body":  func() result { return result{resp: &http.Response{StatusCode: 101}} },
	} {
		t.Run(name, func(t *testing.T) {
			slot := newOneSlot()
			var want, got result
			transport := &middleware.Transport{Slots: slot, Base: roundTripper(func(*http.Request) (*http.Response, error) {
				want = base()
				return want.resp, want.err
			})}
			func() {
				defer func() {
					if thrown := recover(); thrown != nil && thrown != any(errBroken) {
						t.Errorf("panic %v", thrown)
					}
				}()
				got.resp, got.err = transport.RoundTrip(outbound(t, as(t, "acme", "free"), nowhere, nil))
			}()
			if n := len(slot.given); n != 1 {
				t.Errorf("the slot came back %d times, want once", n)
			}
			if got != want {
				t.Errorf("got %v, want what Base returned, %v", got, want)
			}
		})
	}
}

// failing is a body that cannot even be closed.
type failing struct{ io.Reader }

func (failing) Close() error { return errBroken }

// In memory a response rarely has its length set.
func TestTransport_SlotIsHeldForABodyWhoseLengthIsNotSaid(t *testing.T) {
	for name, body := range map[string]io.ReadCloser{
		"body": &closing{Reader: strings.NewReader("hello")}, "body that fails": failing{strings.NewReader("hello")},
	} {
		slot := newOneSlot()
		transport := &middleware.Transport{Slots: slot, Base: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body}, nil
		})}
		resp, err := transport.RoundTrip(outbound(t, as(t, "acme", "free"), nowhere, nil))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(slot.given); n != 0 {
			t.Errorf("%s: the slot was back before it was closed", name)
		}
		resp.Body.Close()
		if n := len(slot.given); n != 1 {
			t.Errorf("%s: the slot came back %d times, want once", name, n)
		}
	}
}

// watched is a context that counts who waits for its end.
type watched struct {
	context.Context
	done     chan struct{}
	watchers int
}

func (w *watched) Done() <-chan struct{} { return w.done }

func (w *watched) AfterFunc(func()) (stop func() bool) {
	w.watchers++
	return func() bool { w.watchers--; return true }
}

// The context of a job may live for as long as the service, and through any number of calls.
func TestTransport_CallThatIsOverLeavesNothingInItsContext(t *testing.T) {
	for name, end := range map[string]func(io.ReadCloser){
		"read":   func(body io.ReadCloser) { _, _ = io.Copy(io.Discard, body) },
		"closed": func(body io.ReadCloser) { body.Close() },
	} {
		ctx := &watched{Context: as(t, "acme", "free"), done: make(chan struct{})}
		transport := &middleware.Transport{Slots: newOneSlot(), Base: roundTripper(answering)}
		resp, err := transport.RoundTrip(outbound(t, ctx, nowhere, nil))
		if err != nil {
			t.Fatal(err)
		}
		if ctx.watchers != 1 {
			t.Errorf("%d wait for the context's end during the call, want 1", ctx.watchers)
		}
		if end(resp.Body); ctx.watchers != 0 {
			t.Errorf("%s: %d wait for the context's end after the call", name, ctx.watchers)
		}
	}
}

func TestTransport_SwitchedProtocolsHoldTheSlotUntilClosed(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"+
			"Content-Length: 0\r\n\r\n")
		line, _ := rw.ReadString('\n')
		io.WriteString(conn, line)
	}))
	slot := newOneSlot()
	ctx, cancel := context.WithCancel(as(t, "acme", "free"))
	defer cancel()
	r := outbound(t, ctx, s.URL, nil)
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}}
	client := &http.Client{Transport: &middleware.Transport{Slots: slot, Base: s.Client().Transport}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("status %s with a %T for a body, want an io.ReadWriteCloser", resp.Status, resp.Body)
	}
	cancel()
	if _, err := io.WriteString(conn, "ping\n"); err != nil {
		t.Fatal(err)
	}
	if echo, err := io.ReadAll(conn); string(echo) != "ping\n" || err != nil {
		t.Errorf("the echo of ping is %q, %v", echo, err)
	}
	if n := len(slot.given); n != 0 {
		t.Error("the slot was back before the connection was closed")
	}
	conn.Close()
	conn.Close()
	slot.awaitReturn(t)
	if n := len(slot.given); n != 0 {
		t.Errorf("the slot came back %d times more", n)
	}
}
