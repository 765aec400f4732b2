package jwttest_test

import (
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

// serve puts issuer behind a real listener.
func serve(t *testing.T, issuer *jwttest.Issuer) *httptest.Server {
	server := httptest.NewTLSServer(issuer)
	t.Cleanup(server.Close)
	return server
}

// fetching is for keys from server.
func fetching(server *httptest.Server) jwttenant.JWKSConfig {
	return jwttenant.JWKSConfig{
		Transport: server.Client().Transport,
		Logger:    slog.New(slog.DiscardHandler),
		MaxWait:   time.Minute, // for a slow machine
		Timeout:   time.Minute,
	}
}

// newFetching returns a resolver that has issuer's keys from source.
func newFetching(t *testing.T, issuer *jwttest.Issuer, source jwttenant.KeySource) *jwttenant.Resolver {
	t.Helper()
	config := issuer.Config()
	config.Keys = source
	r, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{config}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestServeHTTP_KeysOfEveryKindVerify(t *testing.T) {
	for _, alg := range []string{"RS256", "PS384", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"} {
		t.Run(alg, func(t *testing.T) {
			// The transport of package httptest finds the server under this name too.
			issuer := jwttest.New(jwttenant.Issuer{Issuer: "https://id.example.com/a/", Algorithms: []string{alg}})
			server := serve(t, issuer)
			for name, source := range map[string]jwttenant.KeySource{
				"JWKS":      jwttenant.JWKS(server.URL, fetching(server)),
				"Discovery": jwttenant.Discovery(fetching(server)),
			} {
				r := newFetching(t, issuer, source)
				if err := r.Ready(t.Context()); err != nil {
					t.Errorf("%s: Ready: %v, want nil", name, err)
				}
				check(t, r, issuer.Authorize(newRequest(), tenant.Tenant{ID: "acme"}), nil)
			}
		})
	}
}

// TestRotate_NewTokensPassAndOldOnesEnd: the first token of the new key makes the resolver fetch, and that is the end of
// the old one's.
func TestRotate_NewTokensPassAndOldOnesEnd(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{})
	server := serve(t, issuer)
	r := newFetching(t, issuer, jwttenant.JWKS(server.URL, fetching(server)))
	old := issuer.Authorize(newRequest(), tenant.Tenant{ID: "acme"})
	check(t, r, old, nil)
	issuer.Rotate()
	check(t, r, old, nil) // the resolver has not noticed
	check(t, r, issuer.Authorize(newRequest(), tenant.Tenant{ID: "acme"}), nil)
	check(t, r, old, tenant.ErrInvalid)
}

// TestRotate_WhileTokensAreMintedAndKeysServed: no rotation is lost, no kid is that of two keys, and each token is signed by
// the key that it names.
func TestRotate_WhileTokensAreMintedAndKeysServed(t *testing.T) {
	const each = 50
	issuer := jwttest.New(jwttenant.Issuer{Algorithms: []string{"EdDSA"}})
	var mu sync.Mutex
	seen := map[string]string{} // x by kid
	tokens := make(chan string, 4*each+1)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range each {
				issuer.Rotate()
				k := publishedKey(t, issuer)
				mu.Lock()
				if x, ok := seen[k["kid"]]; ok && x != k["x"] {
					t.Errorf("two keys have the kid %s", k["kid"])
				}
				seen[k["kid"]] = k["x"]
				mu.Unlock()
			}
		})
		wg.Go(func() {
			for range each {
				tokens <- issuer.Token(tenant.Tenant{ID: "acme"})
			}
		})
	}
	wg.Wait()
	if got, want := publishedKey(t, issuer)["kid"], "jwttest-201"; got != want {
		t.Errorf("kid %s after 200 rotations, want %s", got, want)
	}

	tokens <- issuer.Token(tenant.Tenant{ID: "acme"}) // of a key that was seen for certain
	close(tokens)
	verified, errUnseen := 0, errors.New("a key that was replaced before anybody saw it")
	for token := range tokens {
		_, err := jwt.Parse(token, func(token *jwt.Token) (any, error) {
			kid, _ := token.Header["kid"].(string)
			if seen[kid] == "" {
				return nil, errUnseen
			}
			x, err := base64.RawURLEncoding.DecodeString(seen[kid])
			return ed25519.PublicKey(x), err
		})
		if err == nil {
			verified++
		} else if !errors.Is(err, errUnseen) {
			t.Errorf("token: %v", err)
		}
	}
	if verified == 0 {
		t.Error("no token was verified")
	}
}

func TestServeHTTP_CoordinatesKeepLeadingZeros(t *testing.T) {
	const size, enough = 66, 100 // of the 66 bytes of P-521 the first one has but one bit: half of all begin with 0
	issuer := jwttest.New(jwttenant.Issuer{Algorithms: []string{"ES512"}})
	zeros := 0
	for range enough {
		issuer.Rotate()
		k := publishedKey(t, issuer)
		for _, name := range []string{"x", "y"} {
			b, err := base64.RawURLEncoding.DecodeString(k[name])
			if err != nil || len(b) != size {
				t.Fatalf("%s has %d bytes, error %v; want %d", name, len(b), err, size)
			}
			if b[0] == 0 {
				zeros++
			}
		}
	}
	if zeros == 0 {
		t.Errorf("no leading zero in %d keys", enough)
	}
}

func TestServeHTTP_DiscoveryPointsToTheHostThatWasAsked(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{Issuer: "https://id.example.com/", Algorithms: []string{"ES384"}})
	for _, c := range []struct {
		name, path string
		tls        *tls.ConnectionState
		want       string
	}{
		{"https", "/.well-known/openid-configuration", &tls.ConnectionState{}, "https://127.0.0.1:8443/.well-known/jwks.json"},
		{"http", "/.well-known/openid-configuration", nil, "http://127.0.0.1:8443/.well-known/jwks.json"},
		{"path", "/a/b/.well-known/openid-configuration", nil, "http://127.0.0.1:8443/a/b/.well-known/jwks.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, c.path, nil)
			req.Host, req.TLS = "127.0.0.1:8443", c.tls
			got := map[string]any{}
			ask(t, issuer, req, &got)
			want := map[string]any{
				"issuer":                                "https://id.example.com/",
				"jwks_uri":                              c.want,
				"id_token_signing_alg_values_supported": []any{"ES384"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServeHTTP_SecretIsNotPublished(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{Algorithms: []string{"HS256"}})
	for _, path := range []string{"/", "/.well-known/openid-configuration"} {
		w := httptest.NewRecorder()
		issuer.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want %d", path, w.Code, http.StatusNotFound)
		}
	}
}

// publishedKey returns the only key that issuer publishes.
func publishedKey(t *testing.T, issuer *jwttest.Issuer) map[string]string {
	var set struct{ Keys []map[string]string }
	ask(t, issuer, newRequest(), &set)
	if len(set.Keys) != 1 {
		t.Errorf("%d keys, want 1", len(set.Keys))
		return nil
	}
	return set.Keys[0]
}

// ask reads issuer's answer to req into document.
func ask(t *testing.T, issuer *jwttest.Issuer, req *http.Request, document any) {
	t.Helper()
	w := httptest.NewRecorder()
	issuer.ServeHTTP(w, req)
	if got, want := w.Header().Get("Content-Type"), "application/json"; w.Code != http.StatusOK || got != want {
		t.Errorf("status %d, Content-Type %q; want %d, %q", w.Code, got, http.StatusOK, want)
	}
	if err := json.Unmarshal(w.Body.Bytes(), document); err != nil {
		t.Errorf("the document %q: %v", w.Body, err)
	}
}
