package jwttenant_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// exampleIssuer is an issuer with one key, as many a server has it: it says where its keys are, and serves them.
func exampleIssuer() (server *httptest.Server, credential string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	mux := http.NewServeMux()
	server = httptest.NewServer(mux)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, server.URL, server.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","use":"sig","kid":"2026-01","x":%q,"y":%q}]}`,
			encode(point[1:33]), encode(point[33:]))
	})
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": server.URL, "aud": "orders-api", "exp": time.Now().Add(time.Hour).Unix(), "tenant_id": "acme",
	})
	token.Header["kid"] = "2026-01"
	if credential, err = token.SignedString(key); err != nil {
		panic(err)
	}
	return server, credential
}

func ExampleJWKS() {
	issuer, credential := exampleIssuer()
	defer issuer.Close()
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:      issuer.URL,
		Audience:    "orders-api",
		Algorithms:  []string{"ES256"},
		Keys:        jwttenant.JWKS(issuer.URL+"/keys", jwttenant.JWKSConfig{}),
		TenantClaim: []string{"tenant_id"},
	}}})
	if err != nil {
		panic(err)
	}
	defer resolver.Close()

	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	if err := resolver.Ready(r.Context()); err != nil { // or else the first request waits for the keys
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+credential)
	fmt.Println(resolver.Resolve(r))
	// Output:
	// acme <nil>
}

func ExampleDiscovery() {
	issuer, _ := exampleIssuer()
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
		Issuer:      issuer.URL,
		Audience:    "orders-api",
		Algorithms:  []string{"ES256"},
		Keys:        jwttenant.Discovery(jwttenant.JWKSConfig{}),
		TenantClaim: []string{"tenant_id"},
	}}})
	if err != nil {
		panic(err)
	}
	defer resolver.Close()

	// For a readiness probe. The issuer may be down afterwards.
	r := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	fmt.Println(resolver.Ready(r.Context()), resolver.Stats().Keys[0].Keys)
	issuer.Close()
	fmt.Println(resolver.Ready(r.Context()))
	// Output:
	// <nil> 1
	// <nil>
}
