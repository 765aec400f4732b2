package jwttenant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant"
)

// Keyfunc asks fn for the key of each token, concurrently. fn gets the header, the signing method and, as
// [jwt.MapClaims], the claims, none of them verified, and neither the token's text nor its signature, so that no error
// of fn's can show them. It returns a []byte for HMAC, a key of a type that [PublicKeys] takes, or a
// [jwt.VerificationKeySet] of them. Keys that do not suit the token's algorithm are refused. Since fn does not say which
// algorithm a key is for, the issuer may have one only for each kind of key (RFC 8725, 3.1).
//
// kid is whatever the sender wrote, in printable ASCII: look it up among the keys there are, and build no path, query or
// address from it. An error that matches [tenant.ErrUnavailable] says that the keys cannot be had now; with any other
// one the token is invalid. Only the operator sees its text.
//
// Since fn may change its mind at any time, tokens are not remembered: each is verified each time it comes.
func Keyfunc(fn jwt.Keyfunc) KeySource {
	return KeySource{open: func(use keyUse, found findings) keySet {
		if fn == nil {
			found.add("the key function is nil")
		}
		for n, alg := range use.algorithms {
			for _, other := range use.algorithms[:n] {
				if alg.sharesKeysWith(other) {
					found.add("a key function, and keys that suit both %s and %s (RFC 8725, 3.1)", other.name, alg.name)
				}
			}
		}
		return keyFunc(fn)
	}}
}

// keyFunc is the set of [Keyfunc].
type keyFunc jwt.Keyfunc

// prepare decodes t for the function.
func (keyFunc) prepare(t *token) error {
	asked := &jwt.Token{Method: t.algorithm.method}
	var claims jwt.MapClaims
	if json.Unmarshal([]byte(t.header), &asked.Header) != nil || json.Unmarshal([]byte(t.payload), &claims) != nil {
		return errJSON // does not happen: both are objects
	}
	asked.Claims = claims
	t.asked = asked
	return nil
}

func (fn keyFunc) find(_ context.Context, t *token) (*key, error) {
	answer, err := fn(t.asked)
	switch {
	case errors.Is(err, tenant.ErrUnavailable):
		return nil, fmt.Errorf("%w: key function: %w", tenant.ErrUnavailable, foreign(err))
	case err != nil:
		// Not wrapped: whatever else fn's error matches is not for the gate to act upon.
		return nil, invalid("key function: " + err.Error())
	}
	keys := []jwt.VerificationKey{answer}
	if set, ok := answer.(jwt.VerificationKeySet); ok {
		keys = set.Keys
	}
	alg := t.algorithm
	return &key{alg: alg, fleeting: true, signed: func(t *token) error { return verifyAny(alg, t, keys) }}, nil
}

// verifyAny returns nil if one of keys, which may be anything, signed t.
func verifyAny(alg *algorithm, t *token, keys []jwt.VerificationKey) error {
	err := errKey
	for _, key := range keys {
		if alg.checkKey(key) != nil {
			continue
		}
		if err = alg.verify(t, key); err == nil {
			return nil
		}
	}
	return err
}
