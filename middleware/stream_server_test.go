package middleware_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
)

// events sends one event and then as many more as come, until its client leaves.
func events(t *testing.T, more <-chan string, ended chan<- struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(http.Flusher); !ok {
			t.Error("the writer is no Flusher")
		}
		if err := middleware.Stream(r.Context()); err != nil {
			middleware.Refuse(w, r, err)
			return
		}
		defer func() { ended <- struct{}{} }()
		control := http.NewResponseController(w)
		if err := control.SetWriteDeadline(time.Time{}); err != nil { // a stream outlasts the server's WriteTimeout
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for event := "hello"; ; {
			fmt.Fprintf(w, "data: %s\n\n", event)
			if err := control.Flush(); err != nil {
				t.Error(err)
			}
			select {
			case event = <-more:
			case <-r.Context().Done():
				return
			}
		}
	})
}

// ask sends a request of acme to a server.
func ask(t *testing.T, ctx context.Context, s *httptest.Server, path string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Name acme free")
	answer, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func TestServer_EventsArriveUnbufferedAndHoldNoSlot(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			slots := newPool(t, fairslots.Config{Capacity: 1})
			g := newGate(t, middleware.Config{Resolver: named, Quota: newLimiter(t, quota.Config{}), Slots: slots})
			more, ended := make(chan string), make(chan struct{}, 1)
			mux := http.NewServeMux()
			mux.Handle("/events", events(t, more, ended))
			mux.Handle("/", ok)
			s := serve(t, g.Tenant(g.Quota(g.Slots(mux))), func(s *httptest.Server) {
				s.EnableHTTP2, s.Config.WriteTimeout = http2, patience
			})
			defer s.Client().CloseIdleConnections()

			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			feed := bufio.NewReader(ask(t, ctx, s, "/events").Body)
			next := func(want string) {
				t.Helper()
				for _, want := range []string{"data: " + want + "\n", "\n"} {
					if line, err := feed.ReadString('\n'); err != nil || line != want {
						t.Fatalf("got %q, %v, want %q", line, err, want)
					}
				}
			}
			next("hello")
			if st := slots.Stats(); st.InUse != 0 || st.Streams != 1 {
				t.Errorf("%d slots and %d streams in use, want 0 and 1", st.InUse, st.Streams)
			}
			if answer := ask(t, t.Context(), s, "/"); answer.StatusCode != 200 {
				t.Errorf("a request beside the stream: %s", answer.Status)
			}
			answer := ask(t, t.Context(), s, "/events")
			if answer.StatusCode != 429 || answer.Header.Get("Retry-After") != "1" ||
				answer.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("a second stream: %s, %v", answer.Status, answer.Header)
			}
			more <- "goodbye"
			next("goodbye")

			leave()
			<-ended
			if err := g.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			s.Close() // returns once the handler is done with
			checkCalm(t, g, slots)
		})
	}
}

func TestServer_WebSocketUpgradeIsAStreamUntilItsHandlerReturns(t *testing.T) {
	slots := newPool(t, fairslots.Config{Capacity: 2})
	g := newGate(t, middleware.Config{Resolver: named, Slots: slots})
	done := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mustStream(t, r.Context())
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
				"Sec-WebSocket-Accept: %s\r\n\r\n",
				base64.StdEncoding.EncodeToString(sum[:]))
			rw.WriteString("\x81\x02hi") // an unmasked text frame
			rw.Flush()
			_, _ = rw.ReadByte() // until the client has closed the connection
		})).ServeHTTP(w, r)
	}))
	c, answers := dial(t, s, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Name acme\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != 101 || answer.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("status %d, headers %v", answer.StatusCode, answer.Header)
	}
	frame := make([]byte, 4)
	if _, err := io.ReadFull(answers, frame); err != nil || string(frame) != "\x81\x02hi" {
		t.Errorf("frame %q, %v", frame, err)
	}
	if st := slots.Stats(); st.InUse != 0 || st.Streams != 1 {
		t.Errorf("%d slots and %d streams in use while the connection is open, want 0 and 1", st.InUse, st.Streams)
	}
	c.Close()
	<-done
	checkCalm(t, g, slots)
}
