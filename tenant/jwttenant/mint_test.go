package jwttenant_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/internal/sentinel"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

const (
	issuerName = "https://id.example.com/"
	audience   = "orders-api"
)

var secret = []byte(sentinel.Text + "-fedcba9876543210fed")

// The keys are made once: those of RSA take long.
var (
	rsaKey     = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey      = sync.OnceValue(func() *ecdsa.PrivateKey { return ecKeyOn(elliptic.P256()) })
	ed25519Key = sync.OnceValue(func() ed25519.PrivateKey {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return must(key, err)
	})
)

func ecKeyOn(curve elliptic.Curve) *ecdsa.PrivateKey {
	return must(ecdsa.GenerateKey(curve, rand.Reader))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// hmacIssuer is the issuer of most tests, for being the cheapest.
func hmacIssuer() jwttenant.Issuer {
	return jwttenant.Issuer{
		Issuer:      issuerName,
		Audience:    audience,
		Algorithms:  []string{"HS256"},
		Keys:        jwttenant.HMAC(secret),
		TenantClaim: []string{"tenant_id"},
		TierClaim:   []string{"plan"},
	}
}

// keyIssuer is hmacIssuer with other keys.
func keyIssuer(keys jwttenant.KeySource, algorithms ...string) jwttenant.Issuer {
	i := hmacIssuer()
	i.Keys, i.Algorithms = keys, algorithms
	return i
}

func publicKey(id string, key crypto.PublicKey) jwttenant.KeySource {
	return jwttenant.PublicKeys(map[string]crypto.PublicKey{id: key})
}

// failer is what testing.TB and rapid.T have in common that matters here.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newResolver(tb failer, issuers ...jwttenant.Issuer) *jwttenant.Resolver {
	tb.Helper()
	r, err := jwttenant.New(jwttenant.Config{Issuers: issuers})
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	return r
}

// claims are a token's header or claims. A raw value is written as it is, an absent one not at all.
type claims map[string]any

type raw = json.RawMessage

type absentValue struct{}

var absent absentValue

// with returns c with changes in it.
func (c claims) with(changes claims) claims {
	out := maps.Clone(c)
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == any(absent) })
	return out
}

func (c claims) json() string { return string(must(json.Marshal(map[string]any(c)))) }

// goodClaims are those of a token for tenant acme on tier pro that hmacIssuer issued now.
func goodClaims() claims {
	now := time.Now().Unix()
	return claims{
		"iss": issuerName, "aud": audience, "sub": "user-7", "iat": now, "exp": now + 3600,
		"tenant_id": "acme", "plan": "pro",
	}
}

// mint signs header and payload as they are, with the method that is called alg in package jwt, which knows Ed25519 by its
// old name only.
func mint(alg string, key any, header, payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(payload))
	if alg == "Ed25519" {
		alg = "EdDSA"
	}
	signature := encode(must(jwt.GetSigningMethod(alg).Sign(signed, key)))
	sentinel.Hide(signature)
	return signed + "." + signature
}

// token returns a token that differs from a good one of hmacIssuer's in changes.
func token(changes claims) string {
	return mint("HS256", secret, `{"alg":"HS256","typ":"JWT"}`, goodClaims().with(changes).json())
}

// tokenWithHeader returns a good token of hmacIssuer's but for changes in its header.
func tokenWithHeader(changes claims) string {
	return mint("HS256", secret, claims{"alg": "HS256"}.with(changes).json(), goodClaims().json())
}

// respelt returns a token of 32 bytes of signature with that spelt differently: of the 43 characters for them the last one
// has two bits that count for nothing.
func respelt(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(token) - 1
	return token[:last] + string(alphabet[strings.IndexByte(alphabet, token[last])^1])
}

func request(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

var answers = []error{
	tenant.ErrNoCredential, tenant.ErrMalformed, tenant.ErrInvalid, tenant.ErrForbidden, tenant.ErrUnavailable,
}

// checkAnswer resolves req and fails unless the error matches want and no other answer (nil: unless there is none). It
// sees to it that a refusal names no tenant, and that its error has nothing out of the token.
func checkAnswer(tb testing.TB, r *jwttenant.Resolver, req *http.Request, want error) tenant.Tenant {
	tb.Helper()
	got, err := r.Resolve(req)
	if want == nil {
		if err != nil {
			tb.Fatalf("Resolve(%s): %v, want a tenant", describe(req), err)
		}
		return got
	}
	for _, answer := range answers {
		if errors.Is(err, answer) != (answer == want) {
			tb.Fatalf("Resolve(%s): error %v, want %v and nothing else", describe(req), err, want)
		}
	}
	if got != (tenant.Tenant{}) {
		tb.Errorf("Resolve(%s): tenant %v beside the error %v", describe(req), got, err)
	}
	for _, header := range req.Header["Authorization"] {
		for part := range strings.FieldsFuncSeq(header, func(c rune) bool { return strings.ContainsRune(" .,", c) }) {
			if len(part) > 8 && strings.Contains(err.Error(), part) {
				tb.Errorf("Resolve(%s): the error %q has a part of the token", describe(req), err)
			}
		}
	}
	return got
}

// describe shows the header and the claims of a request's token, and not the signature, without which it is none.
func describe(req *http.Request) string {
	credential := strings.Join(req.Header["Authorization"], " | ")
	parts := strings.Split(strings.TrimPrefix(credential, "Bearer "), ".")
	if len(parts) != 3 || len(credential) > 10_000 {
		return fmt.Sprintf("a credential of %d parts and %d bytes", len(parts), len(credential))
	}
	header, _ := base64.RawURLEncoding.DecodeString(parts[0])
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	return string(header) + "." + string(payload) + "."
}

// tokenCase is a token and the answer to it; nil: it is good.
type tokenCase struct {
	name  string
	token string
	want  error
}

func checkTokens(t *testing.T, r *jwttenant.Resolver, cases []tokenCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkAnswer(t, r, request(c.token), c.want) })
	}
}
