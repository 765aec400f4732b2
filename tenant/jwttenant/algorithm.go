package jwttenant

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

// algorithm is a way to sign tokens, and which keys are fit for it.
type algorithm struct {
	name   string // what tokens call it
	method jwt.SigningMethod
	keys   string // what keys it has; those of two algorithms with the same suit both, if they are long enough
	// checkKey returns nil for a key of the type, size and curve that the algorithm demands, and else a text without
	// anything of the key.
	checkKey func(key any) error
}

// algorithms are all that there are, by their names in RFC 7518, RFC 8037 and RFC 9864. None is not among them.
var algorithms = func() map[string]*algorithm {
	byName := map[string]*algorithm{}
	for _, a := range []algorithm{
		{"HS256", jwt.SigningMethodHS256, "secret", secretOf(256)},
		{"HS384", jwt.SigningMethodHS384, "secret", secretOf(384)},
		{"HS512", jwt.SigningMethodHS512, "secret", secretOf(512)},
		{"RS256", jwt.SigningMethodRS256, "RSA", checkRSA},
		{"RS384", jwt.SigningMethodRS384, "RSA", checkRSA},
		{"RS512", jwt.SigningMethodRS512, "RSA", checkRSA},
		{"PS256", saltOfHash(jwt.SigningMethodPS256), "RSA", checkRSA},
		{"PS384", saltOfHash(jwt.SigningMethodPS384), "RSA", checkRSA},
		{"PS512", saltOfHash(jwt.SigningMethodPS512), "RSA", checkRSA},
		{"ES256", jwt.SigningMethodES256, "P-256", onCurve(elliptic.P256())},
		{"ES384", jwt.SigningMethodES384, "P-384", onCurve(elliptic.P384())},
		{"ES512", jwt.SigningMethodES512, "P-521", onCurve(elliptic.P521())},
		{"EdDSA", jwt.SigningMethodEdDSA, "Ed25519", checkEd25519},
		{"Ed25519", jwt.SigningMethodEdDSA, "Ed25519", checkEd25519}, // the same by its new name
	} {
		byName[a.name] = &a
	}
	return byName
}()

// saltOfHash returns m for signatures whose salt is as long as the hash (RFC 7518, 3.5): package jwt takes any salt.
func saltOfHash(m *jwt.SigningMethodRSAPSS) jwt.SigningMethod {
	own := *m
	own.VerifyOptions = nil
	return &own
}

// symmetric reports whether who can verify can also sign.
func (a *algorithm) symmetric() bool {
	_, ok := a.method.(*jwt.SigningMethodHMAC)
	return ok
}

// sharesKeysWith reports whether there are keys that suit both.
func (a *algorithm) sharesKeysWith(other *algorithm) bool {
	return a.keys == other.keys
}

// verify returns nil if t was signed with key, which has passed checkKey.
func (a *algorithm) verify(t *token, key any) error {
	if a.method.Verify(t.signed, t.signature, key) != nil {
		return errSignature
	}
	return nil
}

func secretOf(bits int) func(key any) error {
	return func(key any) error {
		secret, ok := key.([]byte)
		switch {
		case !ok:
			return fmt.Errorf("wants a secret, not a %T", key)
		case len(secret)*8 < bits:
			return fmt.Errorf("wants a secret of %d bytes or more, not %d (RFC 7518, 3.2)", bits/8, len(secret))
		case bytes.HasPrefix(secret, []byte("-----BEGIN ")):
			// Everybody has the public key of a pair, so everybody could sign with it.
			return errors.New("wants a secret, not a key in PEM")
		}
		return nil
	}
}

func checkRSA(key any) error {
	const minBits, maxBits = 2048, 16384 // the most because the work grows with the square
	pub, ok := key.(*rsa.PublicKey)
	if !ok {
		return fmt.Errorf("wants an *rsa.PublicKey, not a %T", key)
	}
	if pub == nil || pub.N == nil || pub.N.Sign() <= 0 || pub.N.Bit(0) == 0 || pub.E < 3 || pub.E%2 == 0 {
		return errors.New("wants an RSA key, not a modulus or exponent that cannot be one's")
	}
	if n := pub.N.BitLen(); n < minBits || n > maxBits {
		return fmt.Errorf("wants an RSA key of %d to %d bits, not %d", minBits, maxBits, n)
	}
	return nil
}

func onCurve(curve elliptic.Curve) func(key any) error {
	return func(key any) error {
		pub, ok := key.(*ecdsa.PublicKey)
		if !ok {
			return fmt.Errorf("wants an *ecdsa.PublicKey, not a %T", key)
		}
		//lint:ignore SA1019 the coordinates are only compared with nil, which Bytes panics on
		if pub == nil || pub.Curve != curve || pub.X == nil || pub.Y == nil {
			return fmt.Errorf("wants a key on %s", curve.Params().Name)
		}
		if _, err := pub.Bytes(); err != nil {
			return fmt.Errorf("wants a point on %s", curve.Params().Name)
		}
		return nil
	}
}

func checkEd25519(key any) error {
	pub, ok := key.(ed25519.PublicKey)
	if !ok {
		return fmt.Errorf("wants an ed25519.PublicKey, not a %T", key)
	}
	if len(pub) != ed25519.PublicKeySize {
		return fmt.Errorf("wants a key of %d bytes, not %d", ed25519.PublicKeySize, len(pub))
	}
	return nil
}
