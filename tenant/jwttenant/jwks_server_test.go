package jwttenant_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// publisher is the server of an issuer's keys. As an http.Handler it stands behind a real listener, as an
// http.RoundTripper it takes the place of the network, which virtual time knows nothing of.
type publisher struct {
	mu      sync.Mutex
	answer  http.HandlerFunc
	fetches []time.Time // when each began
}

func publishing(keys ...claims) *publisher {
	p := &publisher{}
	p.publish(keys...)
	return p
}

func (p *publisher) serve(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// publish makes the answer a document with these keys and no Cache-Control.
func (p *publisher) publish(keys ...claims) { p.serve(answering(keySet(keys...))) }

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answer := p.answer
	p.fetches = append(p.fetches, time.Now())
	p.mu.Unlock()
	answer(w, r)
}

func (p *publisher) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (p *publisher) times() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches[:len(p.fetches):len(p.fetches)]
}

func (p *publisher) count() int { return len(p.times()) }

func answering(document string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(document)) }
}

func failing(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// hanging answers when nobody waits any more.
func hanging(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// serveTLS puts h behind a real listener.
func serveTLS(t testing.TB, h http.Handler) *httptest.Server {
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	return server
}

func trusting(server *httptest.Server) jwttenant.JWKSConfig {
	return jwttenant.JWKSConfig{
		Transport: server.Client().Transport,
		Logger:    slog.New(slog.DiscardHandler),
		MaxWait:   time.Minute, // on a slow machine the network may take longer than is good for requests
		Timeout:   time.Minute,
	}
}

func keySet(keys ...claims) string { return claims{"keys": append([]claims{}, keys...)}.json() }

// jwk is the public half of key as it is published, but for changes.
func jwk(id string, key crypto.Signer, changes claims) claims {
	var c claims
	encode := base64.RawURLEncoding.EncodeToString
	switch pub := key.Public().(type) {
	case *rsa.PublicKey:
		c = claims{"kty": "RSA", "n": encode(pub.N.Bytes()), "e": encode(big.NewInt(int64(pub.E)).Bytes())}
	case *ecdsa.PublicKey:
		point := must(pub.Bytes())[1:]
		c = claims{
			"kty": "EC", "crv": pub.Params().Name, "x": encode(point[:len(point)/2]), "y": encode(point[len(point)/2:]),
		}
	case ed25519.PublicKey:
		c = claims{"kty": "OKP", "crv": "Ed25519", "x": encode(pub)}
	}
	if id != "" {
		c["kid"] = id
	}
	return c.with(changes)
}

// signedBy returns a good token that is signed with key.
func signedBy(id, alg string, key crypto.Signer, changes claims) string {
	header := claims{"alg": alg}
	if id != "" {
		header["kid"] = id
	}
	// Good for so long that virtual hours do not matter.
	lasting := claims{"exp": time.Now().Add(10_000 * time.Hour).Unix()}
	return mint(alg, key, header.json(), goodClaims().with(lasting).with(changes).json())
}

// es256 returns a good token that is signed with the key of that ID.
func es256(id string, key crypto.Signer) string { return signedBy(id, "ES256", key, nil) }

const keysURL = "https://id.example.com/keys"

// newFetching returns a resolver for an issuer whose keys p publishes, in place of the network, and which is closed with
// the test.
func newFetching(tb testing.TB, p http.RoundTripper, cfg jwttenant.JWKSConfig, algorithms ...string) *jwttenant.Resolver {
	tb.Helper()
	cfg.Transport = p
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if algorithms == nil {
		algorithms = []string{"ES256"}
	}
	r := newResolver(tb, keyIssuer(jwttenant.JWKS(keysURL, cfg), algorithms...))
	tb.Cleanup(r.Close)
	return r
}

// newFetched is newFetching once the first fetch has ended.
func newFetched(tb testing.TB, p http.RoundTripper, algorithms ...string) *jwttenant.Resolver {
	tb.Helper()
	r := newFetching(tb, p, jwttenant.JWKSConfig{}, algorithms...)
	_ = r.Ready(tb.Context())
	return r
}

// logLines are the lines that were logged, as they come.
type logLines chan string

func newLogger() (*slog.Logger, logLines) {
	lines := make(logLines, 100)
	return slog.New(slog.NewJSONHandler(lines, nil)), lines
}

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// await returns the next line that has text in it.
func (l logLines) await(t *testing.T, text string) string {
	t.Helper()
	for {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return line
			}
		case <-t.Context().Done():
			t.Fatalf("no line with %q", text)
		}
	}
}

// checkMessages fails unless what was logged is want, by the messages without the name of the package.
func checkMessages(t *testing.T, lines logLines, want ...string) {
	t.Helper()
	var got []string
	for len(lines) > 0 {
		var line struct{ Msg string }
		if err := json.Unmarshal([]byte(<-lines), &line); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimPrefix(line.Msg, "jwttenant: "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log lines (-want +got):\n%s", diff)
	}
}
