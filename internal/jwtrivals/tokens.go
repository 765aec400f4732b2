package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"maps"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

const (
	issuerName = "https://id.example.com/"
	audience   = "orders-api"
	keyID      = "2026-01"
	leeway     = 30 * time.Second
)

// issuer has one key, for one algorithm.
type issuer struct {
	alg     string
	private any // what it signs with
	public  any // what its tokens are verified with; with HS256 the same
	keys    jwttenant.KeySource
}

var (
	hs256 = newIssuer("HS256")
	rs256 = newIssuer("RS256")
	es256 = newIssuer("ES256")
	eddsa = newIssuer("EdDSA")
)

// started is when all tokens were issued: two that say the same are the same, but for ES256.
var started = time.Now()

func newIssuer(alg string) issuer {
	var key crypto.Signer
	switch alg {
	case "HS256":
		secret := make([]byte, 32)
		rand.Read(secret) // never fails
		return issuer{alg: alg, private: secret, public: secret, keys: jwttenant.HMAC(secret)}
	case "RS256":
		key = must(rsa.GenerateKey(rand.Reader, 2048))
	case "ES256":
		key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	case "EdDSA":
		_, private, err := ed25519.GenerateKey(rand.Reader)
		key = must(private, err)
	}
	keys := jwttenant.PublicKeys(map[string]crypto.PublicKey{keyID: key.Public()})
	return issuer{alg: alg, private: key, public: key.Public(), keys: keys}
}

// typical are claims of the number and length that identity providers issue.
func typical(tenant string) jwt.MapClaims {
	now := started.Unix()
	return jwt.MapClaims{
		"iss": issuerName, "aud": audience, "sub": "user-7", "iat": now, "exp": now + 3600, "nbf": now - 60,
		"jti": "3d0f8f2e-5f0b-4a42-9a39-6a4c1e8f7c11", "client_id": "web-client",
		"scope": "orders:read orders:write invoices:read profile email", "email": "someone@acme.example",
		"realm_access": map[string]any{"roles": []string{"default-roles", "offline_access", "uma_authorization"}},
		"tenant_id":    tenant, "plan": "pro",
	}
}

// token returns a token for a tenant that differs from a good one in changes.
func (i issuer) token(tenant string, changes jwt.MapClaims) string {
	claims := typical(tenant)
	maps.Copy(claims, changes)
	t := jwt.NewWithClaims(jwt.GetSigningMethod(i.alg), claims)
	t.Header["kid"] = keyID
	return must(t.SignedString(i.private))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
