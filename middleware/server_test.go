package middleware_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// patience is how long a test waits for what happens at once.
const patience = 10 * time.Second

// serve starts a real server.
func serve(t *testing.T, h http.Handler, configure ...func(*httptest.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	for _, c := range configure {
		c(s)
	}
	if s.EnableHTTP2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// dial opens a connection to write HTTP/1 on by hand.
func dial(t *testing.T, s *httptest.Server, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// spent is a gate that refuses tenant acme, whose rate is used up.
func spent(t *testing.T) *middleware.Gate {
	limiter := newLimiter(t, quota.Config{})
	for range 3 {
		if _, err := limiter.Take(t.Context(), tenant.Tenant{ID: "acme", Tier: "once"}, quota.DefaultOperation); err != nil {
			t.Fatal(err)
		}
	}
	return newGate(t, middleware.Config{Resolver: named, Quota: limiter})
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) { u.t.Error("the body was read"); return 0, io.EOF }

func TestRefusal_DoesNotReadTheBody(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", untouched{t})
	r.Header.Set("Authorization", "Name acme once")
	if w := do(spent(t).Handler(ok), r); w.Code != 429 {
		t.Errorf("status %d", w.Code)
	}
}

func TestServer_RefusesALargeUploadBeforeItCame(t *testing.T) {
	s := serve(t, spent(t).Handler(ok))
	_, answers := dial(t, s, "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Name acme once\r\nContent-Length: 9999999\r\n\r\nhello")
	answer, err := http.ReadResponse(answers, nil) // the rest of the body never comes
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != 429 || answer.Header.Get("X-RateLimit-Limit") != "3" {
		t.Errorf("status %d, headers %v", answer.StatusCode, answer.Header)
	}
}

func TestServer_RefusalKeepsTheHTTP1Connection(t *testing.T) {
	s := serve(t, spent(t).Handler(ok))
	upload := "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Name acme once\r\nContent-Length: 5\r\n\r\nhello"
	_, answers := dial(t, s, upload+upload)
	for range 2 {
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 429 {
			t.Errorf("status %d, %v", answer.StatusCode, err)
		}
	}
}

func TestServer_RefusalOfAnUploaderKeepsTheHTTP2Connection(t *testing.T) {
	s := serve(t, spent(t).Handler(ok), func(s *httptest.Server) { s.EnableHTTP2 = true })
	client := s.Client()
	defer client.CloseIdleConnections()
	reused := 0
	for range 5 {
		body, slow := io.Pipe() // never written to
		r, err := http.NewRequest(http.MethodPost, s.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Name acme once")
		trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if c.Reused {
				reused++
			}
		}}
		answer, err := client.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != 429 || answer.ProtoMajor != 2 {
			t.Errorf("status %d over %s", answer.StatusCode, answer.Proto)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		slow.Close()
	}
	if reused != 4 {
		t.Errorf("the connection was used again %d times, want 4", reused)
	}
}

// While its body is unread, net/http does not notice that a client left: what ends the wait is MaxWait.
func TestServer_ClientThatLeavesWithAnUnreadBodyWaitsNoLongerThanMaxWait(t *testing.T) {
	goOn, running, observed := make(chan struct{}), make(chan struct{}, 1), make(chan middleware.Outcome, 2)
	g := newGate(t, middleware.Config{
		Resolver: named, Slots: newPool(t, fairslots.Config{Capacity: 1, MaxWait: 50 * time.Millisecond}),
		Observe: func(_ *http.Request, out middleware.Outcome) { observed <- out },
	})
	s := serve(t, g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { running <- struct{}{}; <-goOn })))
	defer close(goOn)
	dial(t, s, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Name first\r\n\r\n")
	<-running
	c, _ := dial(t, s, "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Name acme\r\nContent-Length: 9\r\n\r\nhello")
	c.Close()
	select {
	case out := <-observed:
		if out.Tenant.ID != "acme" || out.Result != middleware.Refused && out.Result != middleware.Cancelled {
			t.Errorf("observed %s of %q", out.Result, out.Tenant.ID)
		}
	case <-time.After(patience):
		t.Error("the wait did not end")
	}
}

func TestServer_ReadersThatStallLeaveTheOthersTheirShare(t *testing.T) {
	g := newGate(t, middleware.Config{Resolver: named, Slots: newBulkhead(t, bulkhead.Config{Capacity: 4})})
	writing := make(chan struct{}, 4)
	s := serve(t, g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			writing <- struct{}{}
			chunk := strings.Repeat("x", 1<<20)
			for range 256 {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}
	})))
	for range 3 { // two run, of a share of two, and one waits
		dial(t, s, "GET /large HTTP/1.1\r\nHost: x\r\nAuthorization: Name stalled free\r\n\r\n") // and reads nothing
	}
	<-writing
	<-writing
	for range 5 {
		_, answers := dial(t, s, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Name acme free\r\n\r\n")
		if answer, err := http.ReadResponse(answers, nil); err != nil || answer.StatusCode != 200 {
			t.Fatalf("another tenant: %v, %v", answer, err)
		}
	}
}
