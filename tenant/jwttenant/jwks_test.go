package jwttenant_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func TestJWKS_FirstRequestOfAFreshProcess(t *testing.T) {
	server := serveTLS(t, publishing(jwk("a", ecKey(), nil)))
	r := newResolver(t, keyIssuer(jwttenant.JWKS(server.URL+"/keys?v=1", trusting(server)), "ES256"))
	defer r.Close()
	checkAnswer(t, r, request(es256("a", ecKey())), nil)
	if err := r.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v, want nil", err)
	}
}

// TestJWKS_NewKeyIsGoodAtOnceAndTheOldOneNoMore: the first request with a new key is as good as any, and the old key is none any more, not even for
// a token that was seen before.
func TestJWKS_NewKeyIsGoodAtOnceAndTheOldOneNoMore(t *testing.T) {
	p, first, second := publishing(), ecKey(), ecKeyOn(ecKey().Curve)
	p.publish(jwk("a", first, nil))
	server := serveTLS(t, p)
	r := newResolver(t, keyIssuer(jwttenant.JWKS(server.URL, trusting(server)), "ES256"))
	defer r.Close()
	old := es256("a", first)
	checkAnswer(t, r, request(old), nil)

	p.publish(jwk("b", second, nil))
	checkAnswer(t, r, request(old), nil) // nobody has noticed
	checkAnswer(t, r, request(es256("b", second)), nil)
	checkAnswer(t, r, request(old), tenant.ErrInvalid)
}

func TestJWKS_ClosedResolverKnowsNoKey(t *testing.T) {
	server := serveTLS(t, publishing(jwk("a", ecKey(), nil)))
	r := newResolver(t, keyIssuer(jwttenant.JWKS(server.URL, trusting(server)), "ES256"))
	good := es256("a", ecKey())
	checkAnswer(t, r, request(good), nil)
	r.Close()
	r.Close()
	checkAnswer(t, r, request(good), tenant.ErrUnavailable)
	if _, err := r.Resolve(request(good)); !strings.Contains(err.Error(), "closed") {
		t.Errorf("Resolve: %v, want an error that says why", err)
	}
	checkReady(t, r.Ready(t.Context()), "closed")
}

func TestJWKS_IssuerDownAtStartThenUp(t *testing.T) {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	address := listener.Addr().String()
	listener.Close()
	server := httptest.NewUnstartedServer(publishing(jwk("a", ecKey(), nil)))

	logger, lines := newLogger()
	// All servers of package httptest have one certificate.
	cfg := jwttenant.JWKSConfig{Transport: serveTLS(t, http.NotFoundHandler()).Client().Transport, Logger: logger}
	r := newResolver(t, keyIssuer(jwttenant.JWKS("https://"+address+"/keys?secret=1", cfg), "ES256"))
	defer r.Close()
	good := es256("a", ecKey())
	checkAnswer(t, r, request(good), tenant.ErrUnavailable)
	err := r.Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), address) || strings.Contains(err.Error(), "secret") {
		t.Errorf("Ready: %v, want an error with the address but not the query", err)
	}

	server.Listener.Close()
	server.Listener = must(net.Listen("tcp", address))
	server.StartTLS()
	defer server.Close()
	lines.await(t, "keys are fetched again")
	checkAnswer(t, r, request(good), nil)
}

// readyAfter returns what Ready says after the first fetch from server.
func readyAfter(t *testing.T, server *httptest.Server, path string) error {
	t.Helper()
	r := newResolver(t, keyIssuer(jwttenant.JWKS(server.URL+path, trusting(server)), "ES256"))
	defer r.Close()
	err := r.Ready(t.Context())
	if _, resolved := r.Resolve(request(es256("a", ecKey()))); (resolved == nil) != (err == nil) {
		t.Errorf("Resolve: error %v, but Ready says %v", resolved, err)
	}
	return err
}

func checkReady(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("Ready: %v, want an error with %q (none: nil)", err, want)
	}
}

func TestJWKS_RedirectsStayWithTheOrigin(t *testing.T) {
	document := answering(keySet(jwk("a", ecKey(), nil)))
	elsewhere := func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }
	other, plain := serveTLS(t, http.HandlerFunc(elsewhere)), httptest.NewServer(http.HandlerFunc(elsewhere))
	defer plain.Close()
	var self string
	mux := http.NewServeMux()
	mux.HandleFunc("/keys", document)
	for from, to := range map[string]func() string{
		"/one":      func() string { return "/keys" },
		"/two":      func() string { return self + "/one" },
		"/three":    func() string { return "/two" },
		"/four":     func() string { return "/three" },
		"/loop":     func() string { return "/loop" },
		"/other":    func() string { return other.URL + "/keys" },
		"/plain":    func() string { return plain.URL + "/keys" },
		"/http":     func() string { return strings.Replace(self, "https:", "http:", 1) + "/keys" },
		"/away":     func() string { return "/other" },
		"/user":     func() string { return strings.Replace(self, "://", "://name:word@", 1) + "/keys" },
		"/hostname": func() string { return strings.Replace(self, "127.0.0.1", "localhost", 1) + "/keys" },
	} {
		mux.HandleFunc(from, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to())
			w.WriteHeader(http.StatusFound)
		})
	}
	server := serveTLS(t, mux)
	self = server.URL
	const wrongOrigin, tooMany = "another scheme, host or port", "more than 3 redirects"
	for path, want := range map[string]string{
		"/one": "", "/two": "", "/three": "", "/four": tooMany, "/loop": tooMany, "/other": wrongOrigin,
		"/plain": wrongOrigin, "/http": wrongOrigin, "/away": wrongOrigin, "/user": wrongOrigin, "/hostname": wrongOrigin,
	} {
		t.Run(path[1:], func(t *testing.T) { checkReady(t, readyAfter(t, server, path), want) })
	}
}

func TestJWKS_OnlyStatus200Counts(t *testing.T) {
	p := publishing()
	server := serveTLS(t, p)
	for _, status := range []int{201, 203, 206, 300, 304, 404, 500} {
		p.serve(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			answering(keySet(jwk("a", ecKey(), nil)))(w, r)
		})
		checkReady(t, readyAfter(t, server, ""), fmt.Sprint("status ", status))
	}
}

// allocated returns how many bytes do allocates, in this process, which is the server too.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestJWKS_HugeDocumentCostsLittle(t *testing.T) {
	const huge, chunk = 256 << 20, 64 << 10
	begin, blanks := `{"keys":[`, []byte(strings.Repeat(" ", chunk))
	stream := func(w interface{ Write([]byte) (int, error) }) {
		w.Write([]byte(begin))
		for range huge / chunk {
			if _, err := w.Write(blanks); err != nil {
				return
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"stream": func(w http.ResponseWriter, _ *http.Request) { stream(w) },
		"announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "268435456")
			stream(w)
		},
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Error("the request does not ask for gzip")
			}
			w.Header().Set("Content-Encoding", "gzip")
			z := must(gzip.NewWriterLevel(w, gzip.BestSpeed))
			stream(z)
			z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := serveTLS(t, answer)
			got := allocated(func() { checkReady(t, readyAfter(t, server, ""), "more than 1048576 bytes") })
			if got > 16<<20 {
				t.Errorf("a document of 256 MiB cost %d MiB of memory, want at most 16", got>>20)
			}
		})
	}
}

// TestJWKS_HalfAnAnswerIsNone: what came of it may be a whole document, with some of the keys.
func TestJWKS_HalfAnAnswerIsNone(t *testing.T) {
	document := keySet(jwk("a", ecKey(), nil))
	server := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(document)+1))
		w.Write([]byte(document))
	}))
	checkReady(t, readyAfter(t, server, ""), "unexpected EOF")
}

func TestJWKS_DocumentOfTheGreatestSize(t *testing.T) {
	const most = 1 << 20
	document := keySet(jwk("a", ecKey(), nil))
	p := publishing()
	server := serveTLS(t, p)
	for size, want := range map[int]string{most: "", most + 1: "more than 1048576 bytes"} {
		p.serve(answering(document + strings.Repeat(" ", size-len(document))))
		checkReady(t, readyAfter(t, server, ""), want)
	}
}

func TestJWKS_WrongCertificate(t *testing.T) {
	server := serveTLS(t, publishing(jwk("a", ecKey(), nil)))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	cfg := trusting(server)
	cfg.Transport = nil // which trusts those that the system does
	r := newResolver(t, keyIssuer(jwttenant.JWKS(server.URL, cfg), "ES256"))
	defer r.Close()
	checkReady(t, r.Ready(t.Context()), "certificate")
}

// TestJWKS_PlainHTTPOnLoopback: and without a transport of the test's.
func TestJWKS_PlainHTTPOnLoopback(t *testing.T) {
	server := httptest.NewServer(publishing(jwk("a", ecKey(), nil)))
	defer server.Close()
	r := newResolver(t, keyIssuer(jwttenant.JWKS(server.URL, jwttenant.JWKSConfig{}), "ES256"))
	defer r.Close()
	checkReady(t, r.Ready(t.Context()), "")
	checkAnswer(t, r, request(es256("a", ecKey())), nil)
}

func TestReady_WaitsAsLongAsItsContext(t *testing.T) {
	server := serveTLS(t, http.HandlerFunc(hanging))
	r := newResolver(t, keyIssuer(jwttenant.JWKS(server.URL, trusting(server)), "ES256"))
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkReady(t, r.Ready(ctx), "was not fetched yet: context canceled")
}

// TestJWKS_KnownKeysAreNeverDisturbed: by made-up IDs, by fetches all the time, by failures, nor by other keys that come
// and go.
func TestJWKS_KnownKeysAreNeverDisturbed(t *testing.T) {
	a, b := jwk("a", ecKey(), nil), jwk("b", rsaKey(), nil)
	var fetches atomic.Int64
	p := publishing()
	p.serve(func(w http.ResponseWriter, r *http.Request) {
		switch fetches.Add(1) % 3 {
		case 0:
			answering(keySet(a))(w, r)
		case 1:
			answering(keySet(a, b))(w, r)
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	cfg := jwttenant.JWKSConfig{Refresh: time.Millisecond, Cooldown: time.Nanosecond}
	r := newFetching(t, p, cfg, "ES256", "RS256")
	checkReady(t, r.Ready(t.Context()), "")

	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for m := range 100 {
				if _, err := r.Resolve(request(signedBy("a", "ES256", ecKey(), claims{"jti": fmt.Sprint(n, m)}))); err != nil {
					t.Errorf("a token of a known key: %v", err)
				}
				if _, err := r.Resolve(request(forged(fmt.Sprint(n, m)))); err == nil {
					t.Error("accepted a token of an unknown key")
				}
				_ = r.Stats()
			}
		})
	}
	wg.Wait()
	if fetches.Load() < 10 {
		t.Errorf("%d fetches, want so many that they matter", fetches.Load())
	}
}
