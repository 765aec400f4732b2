package jwttenant

import (
	"bytes"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant"
)

// KeySource says where an issuer's keys come from: [HMAC], [PublicKeys] or [Keyfunc]. It is a plain value, which [New]
// validates; no way of printing it shows a key. The zero KeySource is an error.
type KeySource struct {
	// open returns the keys, ready for use with the issuer's algorithms. A function, so that they stay out of the reach
	// of whatever prints by reflection.
	open func(algs []*algorithm) (keySet, error)
}

// keySet is an open [KeySource].
type keySet interface {
	// verify returns nil if one of the keys signed t by alg, which is the algorithm that t names and one of those the
	// set was opened for; else an error that matches tenant.ErrInvalid, or tenant.ErrUnavailable where the keys cannot
	// be had now. Such an error says by a method RetryAfter() time.Duration, if it knows, when they can.
	verify(alg *algorithm, t *token) error
}

// HMAC is a secret that issuer and service share, for one of HS256, HS384 and HS512: at least 32, 48 or 64 bytes of
// randomness (RFC 7518, 3.2), and no password. It has no ID: a token's kid does not matter. Who knows the secret can
// mint tokens for any tenant.
func HMAC(secret []byte) KeySource {
	secret = bytes.Clone(secret)
	return KeySource{open: func(algs []*algorithm) (keySet, error) { return bind(secret, algs) }}
}

// PublicKeys are keys by their ID, a token's kid: *rsa.PublicKey (2048 bits or more), *ecdsa.PublicKey on the curve of
// the algorithm, or ed25519.PublicKey. A token without kid is for the key of ID "", or for the only key where there is
// but one; a token with an unknown kid is refused.
//
// Each key must suit exactly one of the issuer's algorithms: to use a key with several is what RFC 8725 (3.1) forbids.
// The keys must not be changed any more.
func PublicKeys(keys map[string]crypto.PublicKey) KeySource {
	keys = maps.Clone(keys)
	return KeySource{open: func(algs []*algorithm) (keySet, error) { return newKeyRing(keys, algs) }}
}

// Keyfunc asks fn for the key of each token, concurrently. fn gets the header, the signing method and, as
// [jwt.MapClaims], the claims, none of them verified, and neither the token's text nor its signature, so that no error
// of fn's can show them. It returns a []byte for HMAC, a key of a type that [PublicKeys] takes, or a
// [jwt.VerificationKeySet] of them. Keys that do not suit the token's algorithm are refused; that a key is used with one
// algorithm only (RFC 8725, 3.1) is up to fn where the issuer has several of one kind.
//
// kid is whatever the sender wrote, in printable ASCII: look it up among the keys there are, and build no path, query or
// address from it. An error that matches [tenant.ErrUnavailable] says that the keys cannot be had now; with any other
// one the token is invalid. Only the operator sees its text.
func Keyfunc(fn jwt.Keyfunc) KeySource {
	return KeySource{open: func([]*algorithm) (keySet, error) {
		if fn == nil {
			return nil, errors.New("the key function is nil")
		}
		return keyFunc(fn), nil
	}}
}

// boundKey is a key and the one algorithm that it is used with.
type boundKey struct {
	alg *algorithm
	// signed returns nil if the key signed t. A function for the same reason as [KeySource] is one.
	signed func(t *token) error
}

// bind finds the one algorithm among algs that key suits.
func bind(key any, algs []*algorithm) (boundKey, error) {
	var fits, faults []string
	var bound boundKey
	for _, alg := range algs {
		if err := alg.checkKey(key); err != nil {
			faults = append(faults, alg.name()+" "+err.Error())
			continue
		}
		fits = append(fits, alg.name())
		bound = boundKey{alg, func(t *token) error { return alg.verify(t, key) }}
	}
	switch len(fits) {
	case 0:
		return boundKey{}, errors.New(strings.Join(faults, ", "))
	case 1:
		return bound, nil
	}
	return boundKey{}, fmt.Errorf("one key for %s, want one algorithm a key (RFC 8725, 3.1)", strings.Join(fits, " and "))
}

func (k boundKey) verify(alg *algorithm, t *token) error {
	if alg != k.alg {
		return errKey
	}
	return k.signed(t)
}

// keyRing is the set of [PublicKeys], by ID.
type keyRing map[string]boundKey

func newKeyRing(keys map[string]crypto.PublicKey, algs []*algorithm) (keyRing, error) {
	if len(keys) == 0 {
		return nil, errors.New("there are no keys")
	}
	if algs[0].symmetric() {
		return nil, errors.New("public keys for an HMAC algorithm")
	}
	ring := keyRing{}
	var faults []string
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		bound, err := bind(keys[id], algs)
		if err == nil && id != "" && !validKeyID(id) {
			err = errors.New("no token can have this ID")
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("key %.140q: %v", id, err))
		}
		ring[id] = bound
	}
	if len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return ring, nil
}

func (r keyRing) verify(alg *algorithm, t *token) error {
	k, ok := r[t.keyID]
	if !ok && t.keyID == "" && len(r) == 1 {
		for _, k = range r {
			ok = true
		}
	}
	if !ok {
		return errKeyID
	}
	return k.verify(alg, t)
}

// keyFunc is the set of [Keyfunc].
type keyFunc jwt.Keyfunc

func (fn keyFunc) verify(alg *algorithm, t *token) error {
	asked := jwt.Token{Method: alg.method}
	var claims jwt.MapClaims
	if json.Unmarshal([]byte(t.header), &asked.Header) != nil || json.Unmarshal([]byte(t.payload), &claims) != nil {
		return errJSON // does not happen: both are objects
	}
	asked.Claims = claims
	key, err := fn(&asked)
	switch {
	case errors.Is(err, tenant.ErrUnavailable):
		return fmt.Errorf("jwttenant: key function: %w", err)
	case err != nil:
		// Not wrapped: whatever else fn's error matches is not for the gate to act upon.
		return invalid("key function: " + err.Error())
	}
	if set, ok := key.(jwt.VerificationKeySet); ok {
		return verifyAny(alg, t, set.Keys)
	}
	return verifyAny(alg, t, []jwt.VerificationKey{key})
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
