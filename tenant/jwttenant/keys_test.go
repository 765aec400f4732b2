package jwttenant_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func TestResolve_EveryAlgorithm(t *testing.T) {
	long := bytes.Repeat(secret, 2)
	for alg, key := range map[string]any{
		"HS256": secret, "HS384": long, "HS512": long,
		"RS256": rsaKey(), "RS384": rsaKey(), "RS512": rsaKey(),
		"PS256": rsaKey(), "PS384": rsaKey(), "PS512": rsaKey(),
		"ES256": ecKey(), "ES384": ecKeyOn(elliptic.P384()), "ES512": ecKeyOn(elliptic.P521()),
		"EdDSA": ed25519Key(), "Ed25519": ed25519Key(),
	} {
		t.Run(alg, func(t *testing.T) {
			public := key
			source := jwttenant.HMAC(long)
			if signer, ok := key.(crypto.Signer); ok {
				public = signer.Public()
				source = publicKey("k", public)
			} else if alg == "HS256" {
				source = jwttenant.HMAC(secret)
			}
			good := mint(alg, key, `{"alg":"`+alg+`","kid":"k"}`, goodClaims().json())
			at := strings.LastIndexByte(good, '.') + 1
			forged := good[:at] + strings.Repeat("A", len(good)-at)
			other := mint(alg, key, `{"alg":"`+alg+`","kid":"k"}`, goodClaims().with(claims{"tenant_id": "globex"}).json())
			for name, keys := range map[string]jwttenant.KeySource{
				"fixed":        source,
				"key function": jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return public, nil }),
			} {
				t.Run(name, func(t *testing.T) {
					checkTokens(t, newResolver(t, keyIssuer(keys, alg)), []tokenCase{
						{"good", good, nil},
						{"signature of zeros", forged, tenant.ErrInvalid},
						{"signature of another token", good[:at] + other[strings.LastIndexByte(other, '.')+1:], tenant.ErrInvalid},
						{"signature cut short", good[:len(good)-4], tenant.ErrInvalid},
						{"signature made longer", good + "AAAA", tenant.ErrInvalid},
						{"no signature", good[:at], tenant.ErrInvalid},
						{"no signature and no dot", good[:at-1], tenant.ErrInvalid},
					})
				})
			}
		})
	}
}

// TestResolve_PublicKeyIsNoSecret signs with HS256 and what everybody knows of an RSA key, in every spelling that a
// library might hand to HMAC.
func TestResolve_PublicKeyIsNoSecret(t *testing.T) {
	pkix := must(x509.MarshalPKIXPublicKey(rsaKey().Public()))
	pkcs1 := x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey)
	pkixPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})
	secrets := map[string][]byte{
		"PKIX in PEM":                    pkixPEM,
		"PKIX in PEM, no line break":     bytes.TrimSpace(pkixPEM),
		"PKCS #1 in PEM":                 pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: pkcs1}),
		"PKIX":                           pkix,
		"PKCS #1":                        pkcs1,
		"the modulus":                    rsaKey().N.Bytes(),
		"the modulus printed, as %v has": []byte(rsaKey().N.String()),
	}
	confused := jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return pkixPEM, nil })
	for name, guess := range secrets {
		forged := mint("HS256", guess, `{"alg":"HS256","kid":"k"}`, goodClaims().json())
		lying := mint("HS256", guess, `{"alg":"RS256","kid":"k"}`, goodClaims().json())
		for kind, r := range map[string]*jwttenant.Resolver{
			"public key":                       newResolver(t, keyIssuer(publicKey("k", rsaKey().Public()), "RS256")),
			"key function that returns PEM":    newResolver(t, keyIssuer(confused, "RS256")),
			"key function, and HS256 accepted": newResolver(t, keyIssuer(confused, "HS256")),
		} {
			checkTokens(t, r, []tokenCase{
				{kind + ", " + name, forged, tenant.ErrInvalid},
				{kind + ", " + name + ", alg says RS256", lying, tenant.ErrInvalid},
			})
		}
	}
}

func TestResolve_KeyID(t *testing.T) {
	second := ecKeyOn(elliptic.P256())
	by := func(key *ecdsa.PrivateKey, header string) string {
		return mint("ES256", key, header, goodClaims().json())
	}
	const (
		noID = `{"alg":"ES256"}`
		a    = `{"alg":"ES256","kid":"a"}`
		b    = `{"alg":"ES256","kid":"b"}`
		c    = `{"alg":"ES256","kid":"c"}`
	)

	t.Run("one key", func(t *testing.T) {
		checkTokens(t, newResolver(t, keyIssuer(publicKey("a", ecKey().Public()), "ES256")), []tokenCase{
			{"its ID", by(ecKey(), a), nil},
			{"no ID", by(ecKey(), noID), nil},
			{"unknown ID", by(ecKey(), c), tenant.ErrInvalid},
			{"its ID in another case", by(ecKey(), `{"alg":"ES256","kid":"A"}`), tenant.ErrInvalid},
		})
	})
	t.Run("two keys", func(t *testing.T) {
		keys := jwttenant.PublicKeys(map[string]crypto.PublicKey{"a": ecKey().Public(), "b": second.Public()})
		checkTokens(t, newResolver(t, keyIssuer(keys, "ES256")), []tokenCase{
			{"first", by(ecKey(), a), nil},
			{"second", by(second, b), nil},
			{"the other's ID", by(second, a), tenant.ErrInvalid},
			{"no ID", by(ecKey(), noID), tenant.ErrInvalid},
			{"no ID, by the second", by(second, noID), tenant.ErrInvalid},
			{"unknown ID", by(ecKey(), c), tenant.ErrInvalid},
		})
	})
	t.Run("one key without an ID among two", func(t *testing.T) {
		keys := jwttenant.PublicKeys(map[string]crypto.PublicKey{"": ecKey().Public(), "b": second.Public()})
		checkTokens(t, newResolver(t, keyIssuer(keys, "ES256")), []tokenCase{
			{"no ID", by(ecKey(), noID), nil},
			{"no ID, by the other key", by(second, noID), tenant.ErrInvalid},
			{"unknown ID", by(ecKey(), c), tenant.ErrInvalid},
			{"empty ID", by(ecKey(), `{"alg":"ES256","kid":""}`), tenant.ErrInvalid},
		})
	})
	t.Run("HMAC has no ID to compare with", func(t *testing.T) {
		checkAnswer(t, newResolver(t, hmacIssuer()), request(tokenWithHeader(claims{"kid": "any"})), nil)
	})
	t.Run("HMAC by another hash than the secret is for", func(t *testing.T) {
		r := newResolver(t, keyIssuer(jwttenant.HMAC(secret), "HS256", "HS384"))
		checkAnswer(t, r, request(mint("HS384", secret, `{"alg":"HS384"}`, goodClaims().json())), tenant.ErrInvalid)
		checkAnswer(t, r, request(token(nil)), nil)
	})
}

func TestResolve_KeyFunctionResults(t *testing.T) {
	key := jwt.VerificationKeySet{}
	set := func(keys ...jwt.VerificationKey) any { return jwt.VerificationKeySet{Keys: keys} }
	var nilEC *ecdsa.PublicKey
	ec := ecKey()
	for _, c := range []struct {
		name, alg string
		signer    any
		returned  any
		want      error
	}{
		{"the secret", "HS256", secret, secret, nil},
		{"an empty secret", "HS256", []byte{}, []byte{}, tenant.ErrInvalid},
		{"a nil secret", "HS256", []byte{}, []byte(nil), tenant.ErrInvalid},
		{"a secret of 31 bytes", "HS256", secret[:31], secret[:31], tenant.ErrInvalid},
		{"a secret that is text", "HS256", secret, string(secret), tenant.ErrInvalid},
		{"a public key for HMAC", "HS256", secret, ec.Public(), tenant.ErrInvalid},
		{"nil", "HS256", []byte{}, nil, tenant.ErrInvalid},
		{"a secret for ECDSA", "ES256", ec, secret, tenant.ErrInvalid},
		{"a private key", "ES256", ec, ec, tenant.ErrInvalid},
		{"a key that is no pointer", "ES256", ec, ec.PublicKey, tenant.ErrInvalid},
		{"a nil key", "ES256", ec, nilEC, tenant.ErrInvalid},
		{"a key of another curve", "ES256", ec, ecKeyOn(elliptic.P384()).Public(), tenant.ErrInvalid},
		{"a key without a point", "ES256", ec, &ecdsa.PublicKey{Curve: elliptic.P256()}, tenant.ErrInvalid},
		{"an RSA key for ECDSA", "ES256", ec, rsaKey().Public(), tenant.ErrInvalid},
		{"a set", "ES256", ec, set(ecKeyOn(elliptic.P256()).Public(), ec.Public()), nil},
		{"a set with others' keys", "ES256", ec, set(secret, nil, rsaKey().Public(), ec.Public()), nil},
		{"a set without the key", "ES256", ec, set(ecKeyOn(elliptic.P256()).Public()), tenant.ErrInvalid},
		{"an empty set", "ES256", ec, key, tenant.ErrInvalid},
		{"a set with a short secret", "HS256", secret[:8], set(secret[:8], secret), tenant.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return c.returned, nil })
			signed := mint(c.alg, c.signer, `{"alg":"`+c.alg+`"}`, goodClaims().json())
			checkAnswer(t, newResolver(t, keyIssuer(source, c.alg)), request(signed), c.want)
		})
	}
}

func TestResolve_KeyFunctionSeesHeaderAndClaimsButNoCredential(t *testing.T) {
	var seen *jwt.Token
	source := jwttenant.Keyfunc(func(asked *jwt.Token) (any, error) {
		seen = asked
		return secret, nil
	})
	r := newResolver(t, keyIssuer(source, "HS256"))
	checkAnswer(t, r, request(tokenWithHeader(claims{"kid": "2026"})), nil)
	if seen.Header["kid"] != "2026" || seen.Method != jwt.SigningMethodHS256 {
		t.Errorf("header %v and method %v, want the token's", seen.Header, seen.Method)
	}
	if got, err := seen.Claims.GetIssuer(); got != issuerName || err != nil {
		t.Errorf("issuer %q, %v", got, err)
	}
	if seen.Raw != "" || seen.Signature != nil || seen.Valid {
		t.Errorf("Raw %q, Signature %v, Valid %v; want none", seen.Raw, seen.Signature, seen.Valid)
	}
}

// downFor is an error of a key function whose keys cannot be had for a while.
type downFor time.Duration

func (downFor) Error() string               { return "keys are down" }
func (d downFor) RetryAfter() time.Duration { return time.Duration(d) }
func (downFor) Unwrap() error               { return tenant.ErrUnavailable }

func TestResolve_KeyFunctionErrors(t *testing.T) {
	var fails error
	r := newResolver(t, keyIssuer(jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return secret, fails }), "HS256"))
	for _, c := range []struct{ fails, want error }{
		{errors.New("no such key"), tenant.ErrInvalid},
		{fmt.Errorf("no such key: %w", tenant.ErrNoCredential), tenant.ErrInvalid}, // else First would try the next resolver
		{fmt.Errorf("no such key: %w", tenant.ErrForbidden), tenant.ErrInvalid},
		{fmt.Errorf("down: %w, %w", tenant.ErrUnavailable, tenant.ErrNoCredential), tenant.ErrUnavailable},
		{downFor(7 * time.Second), tenant.ErrUnavailable},
	} {
		fails = c.fails
		checkAnswer(t, r, request(token(nil)), c.want)
		_, err := r.Resolve(request(token(nil)))
		if !strings.Contains(err.Error(), c.fails.Error()) {
			t.Errorf("the error %q does not say %q", err, c.fails)
		}
	}
	_, err := r.Resolve(request(token(nil)))
	if again, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); !ok || again.RetryAfter() != 7*time.Second {
		t.Errorf("error %v does not say when to try again", err)
	}
	fails = downFor(time.Second)
	checkAnswer(t, r, request(token(claims{"exp": 1})), tenant.ErrInvalid) // whatever the key is
}
