package provider_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/internal/sentinel"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sentinel.Watch(m)) }

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// vendor is a product's HTTPS server, with the one document that it is there for.
type vendor struct {
	// config is for an issuer whose keys are to come from the vendor, whatever host it asks for.
	config jwttenant.JWKSConfig
	key    crypto.Signer
	// issuerOfKey is what the key's member issuer says; "" there is none.
	issuerOfKey string
}

// newVendor starts a vendor that publishes the public half of key at address, and answers 404 to all else.
func newVendor(t *testing.T, address string, key crypto.Signer) *vendor {
	v := &vendor{key: key}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if "https://"+r.Host+r.URL.String() != address {
			http.NotFound(w, r)
			return
		}
		must(w.Write(v.document()))
	}))
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.ServerName = "example.com" // what the server's certificate is for
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	t.Cleanup(transport.CloseIdleConnections)
	v.config.Transport = transport
	return v
}

// document returns the JWK Set.
func (v *vendor) document() []byte {
	encode := base64.RawURLEncoding.EncodeToString
	jwk := map[string]string{"kid": "test-key", "use": "sig"}
	if v.issuerOfKey != "" {
		jwk["issuer"] = v.issuerOfKey
	}
	switch key := v.key.Public().(type) {
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		point := must(key.Bytes())[1:]
		jwk["kty"], jwk["crv"] = "EC", "P-256"
		jwk["x"], jwk["y"] = encode(point[:len(point)/2]), encode(point[len(point)/2:])
	}
	return must(json.Marshal(map[string]any{"keys": []any{jwk}}))
}

// open returns a resolver for issuer, with its keys.
func open(t *testing.T, issuer jwttenant.Issuer) *jwttenant.Resolver {
	t.Helper()
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer}})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(resolver.Close)
	if err := resolver.Ready(t.Context()); err != nil {
		t.Fatalf("Ready: %v", err)
	}
	return resolver
}

// request returns a request with a token that the vendor signed.
func (v *vendor) request(header, claims changes) *http.Request {
	var method jwt.SigningMethod = jwt.SigningMethodRS256
	if _, ok := v.key.(*ecdsa.PrivateKey); ok {
		method = jwt.SigningMethodES256
	}
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	token.Header["kid"] = "test-key"
	maps.Copy(token.Header, header)
	signed := must(token.SignedString(v.key))
	sentinel.Hide(signed[strings.LastIndexByte(signed, '.')+1:])
	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	r.Header.Set("Authorization", "Bearer "+signed)
	return r
}

// changes are claims or a header, or what is different in one. A nil value: it is missing.
type changes map[string]any

// documented returns the claims of a documented example with today's times in it.
func documented(example string) changes {
	var claims changes
	if err := json.Unmarshal([]byte(example), &claims); err != nil {
		panic(err)
	}
	now := time.Now().Unix()
	for name, value := range map[string]int64{"exp": now + 60, "iat": now, "nbf": now - 10, "auth_time": now} {
		if _, ok := claims[name]; ok {
			claims[name] = value
		}
	}
	return claims
}

func (c changes) with(other changes) changes {
	c = maps.Clone(c)
	maps.Copy(c, other)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// tokenCase is a token that differs from a good one in change, and the answer to it.
type tokenCase struct {
	name   string
	change changes
	want   error // nil: it is as good
}

// check fails unless a token with the claims good is of the tenant want, and the answers to cases are right.
func (v *vendor) check(t *testing.T, issuer jwttenant.Issuer, good changes, want string, cases []tokenCase) {
	t.Helper()
	resolver := open(t, issuer)
	for _, c := range append([]tokenCase{{"as documented", nil, nil}}, cases...) {
		t.Run(c.name, func(t *testing.T) {
			got, err := resolver.Resolve(v.request(nil, good.with(c.change)))
			if !matches(err, c.want) || err == nil && got.ID != want {
				t.Errorf("changes %v: tenant %q, error %v; want %q, %v", c.change, got.ID, err, want, c.want)
			}
		})
	}
}

// checkRefused fails unless a token with these claims, which are no change of the good ones, is refused.
func (v *vendor) checkRefused(t *testing.T, issuer jwttenant.Issuer, name string, claims changes) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		if got, err := open(t, issuer).Resolve(v.request(nil, claims)); !matches(err, tenant.ErrInvalid) {
			t.Errorf("tenant %q, error %v, want %v", got.ID, err, tenant.ErrInvalid)
		}
	})
}

func ecKey() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

// matches reports whether err is the answer want; nil: none.
func matches(err, want error) bool {
	if want == nil {
		return err == nil
	}
	return errors.Is(err, want)
}
