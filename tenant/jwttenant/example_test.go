package jwttenant_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func ExampleNew() {
	// The issuer's; a service has the public half only.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:      "https://id.example.com/",
		Audience:    "orders-api",
		Algorithms:  []string{"ES256"},
		Keys:        jwttenant.PublicKeys(map[string]crypto.PublicKey{"2026-01": key.Public()}),
		TenantClaim: []string{"org", "id"},
		TierClaim:   []string{"plan"},
	}}})
	if err != nil {
		panic(err)
	}

	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss":  "https://id.example.com/",
		"aud":  "orders-api",
		"exp":  time.Now().Add(time.Hour).Unix(),
		"org":  map[string]any{"id": "acme"},
		"plan": "pro",
	})
	token.Header["kid"] = "2026-01"
	signed, err := token.SignedString(key)
	if err != nil {
		panic(err)
	}

	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	_, err = resolver.Resolve(r)
	fmt.Println(errors.Is(err, tenant.ErrNoCredential), err)
	r.Header.Set("Authorization", "Bearer "+signed)
	t, err := resolver.Resolve(r)
	fmt.Println(t, err)
	// Output:
	// true tenant: no credential: no bearer token
	// acme (pro) <nil>
}

func ExampleHMAC() {
	_, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:      "orders",
		Audience:    "orders-api",
		Algorithms:  []string{"HS256"},
		Keys:        jwttenant.HMAC([]byte("a password")),
		TenantClaim: []string{"tenant_id"},
	}}})
	fmt.Println(err)
	// Output:
	// jwttenant: Issuers[0].Keys: HS256 wants a secret of 32 bytes or more, not 10 (RFC 7518, 3.2)
}

// A key that does not suit the algorithm is an error from New, and not of the first request.
func ExamplePublicKeys() {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		panic(err)
	}
	_, err = jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:      "https://id.example.com/",
		Audience:    "orders-api",
		Algorithms:  []string{"ES256"},
		Keys:        jwttenant.PublicKeys(map[string]crypto.PublicKey{"2026-01": key.Public()}),
		TenantClaim: []string{"tenant_id"},
	}}})
	fmt.Println(err)
	// Output:
	// jwttenant: Issuers[0].Keys: key "2026-01": ES256 wants a key on P-256
}

// Secrets by ID, so that they can be changed while tokens signed with the old one last.
func ExampleKeyfunc() {
	secrets := map[any][]byte{
		"2026-01": []byte("a long secret, better a random one"),
		"2026-02": []byte("another long secret, as random too"),
	}
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:     "orders",
		Audience:   "orders-api",
		Algorithms: []string{"HS256"},
		Keys: jwttenant.Keyfunc(func(t *jwt.Token) (any, error) {
			secret, ok := secrets[t.Header["kid"]]
			if !ok {
				return nil, errors.New("no such secret")
			}
			return secret, nil
		}),
		TenantClaim: []string{"tenant_id"},
	}}})
	if err != nil {
		panic(err)
	}

	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": "orders", "aud": "orders-api", "exp": time.Now().Add(time.Hour).Unix(), "tenant_id": "acme",
	})
	token.Header["kid"] = "2026-02"
	signed, err := token.SignedString(secrets["2026-02"])
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	r.Header.Set("Authorization", "Bearer "+signed)
	fmt.Println(resolver.Resolve(r))
	// Output:
	// acme <nil>
}
