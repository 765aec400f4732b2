package jwttenant

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tenantgate/tenantgate/tenant"
)

// KeySource says where an issuer's keys come from: [JWKS], [Discovery], [HMAC], [PublicKeys] or [Keyfunc]. It is a plain
// value, which [New] validates; no way of printing it shows a key. The zero KeySource is an error.
type KeySource struct {
	// open returns the keys, ready for use with the issuer, unless it adds to the findings. A function, so that they stay
	// out of the reach of whatever prints by reflection.
	open func(keyUse, findings) keySet
}

// keyUse is what the keys of a source are for.
type keyUse struct {
	// issuer is the name of the issuer; "" where it is a template.
	issuer string
	// algorithms are those that the issuer may sign with, at least one.
	algorithms []*algorithm
}

// keySet is an open [KeySource].
type keySet interface {
	// find returns the key that t must have been signed with. Its error matches tenant.ErrInvalid, or
	// tenant.ErrUnavailable where the keys cannot be had now. Such an error says by a method RetryAfter() time.Duration,
	// if it knows, when they can.
	find(ctx context.Context, t *token) (*key, error)
}

// preparingKeys is a keySet whose find needs more of a token. prepare sees to that; it takes time, but does not wait.
type preparingKeys interface {
	keySet
	prepare(t *token) error
}

// fetchedKeys is a keySet that fetches its keys. It does nothing before start.
type fetchedKeys interface {
	keySet
	start()
	// ready returns nil if there are keys to judge tokens by. Where they are being fetched it waits, as long as ctx lets
	// it.
	ready(ctx context.Context) error
	// close ends fetching, and what was fetched is gone. It may be called more than once.
	close()
	stats() tenant.IssuerKeyStats
}

// key is what made the signature of a token, if it is good.
type key struct {
	alg *algorithm
	// signed returns nil if the key signed t. A function for the same reason as in [KeySource] one is.
	signed func(t *token) error
	// fleeting says that the source has to be asked for each token anew.
	fleeting bool
	// gone is set once the source no longer has the key, for good. What the key signed counts no longer.
	gone atomic.Bool
}

// bind finds the one algorithm among algs that material suits.
func bind(material any, algs []*algorithm) (*key, error) {
	var fits, faults []string
	var bound *key
	for _, alg := range algs {
		if err := alg.checkKey(material); err != nil {
			faults = append(faults, alg.name+" "+err.Error())
			continue
		}
		fits = append(fits, alg.name)
		bound = &key{alg: alg, signed: func(t *token) error { return alg.verify(t, material) }}
	}
	switch len(fits) {
	case 0:
		return nil, errors.New(strings.Join(faults, ", "))
	case 1:
		return bound, nil
	}
	return nil, fmt.Errorf("one key for %s, want one algorithm a key (RFC 8725, 3.1)", strings.Join(fits, " and "))
}

// HMAC is a secret that issuer and service share, for one of HS256, HS384 and HS512: at least 32, 48 or 64 bytes of
// randomness (RFC 7518, 3.2), and no password. It has no ID: a token's kid does not matter. Who knows the secret can
// mint tokens for any tenant.
func HMAC(secret []byte) KeySource {
	secret = bytes.Clone(secret)
	return KeySource{open: func(use keyUse, found findings) keySet {
		k, err := bind(secret, use.algorithms)
		if err != nil {
			found.add("%w", err)
		}
		return onlyKey{k}
	}}
}

// onlyKey is the set of [HMAC].
type onlyKey struct{ *key }

func (k onlyKey) find(_ context.Context, t *token) (*key, error) {
	if t.algorithm != k.alg {
		return nil, errKey
	}
	return k.key, nil
}

// PublicKeys are keys by their ID, a token's kid: *rsa.PublicKey (2048 bits or more), *ecdsa.PublicKey on the curve of
// the algorithm, or ed25519.PublicKey. A token without kid is for the key of ID "", or for the only key where there is
// but one; a token with an unknown kid is refused.
//
// Each key must suit exactly one of the issuer's algorithms: to use a key with several is what RFC 8725 (3.1) forbids.
// The keys must not be changed any more.
func PublicKeys(keys map[string]crypto.PublicKey) KeySource {
	keys = maps.Clone(keys)
	return KeySource{open: func(use keyUse, found findings) keySet { return newKeyRing(keys, use.algorithms, found) }}
}

// keyRing is the set of [PublicKeys].
type keyRing struct{ *keyTable }

func newKeyRing(keys map[string]crypto.PublicKey, algs []*algorithm, found findings) keyRing {
	if len(keys) == 0 {
		found.add("there are no keys")
	}
	if algs[0].symmetric() {
		found.add("public keys for an HMAC algorithm")
		return keyRing{}
	}
	table := &keyTable{byID: map[string][]tableKey{}}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		bound, err := bind(keys[id], algs)
		if err == nil && id != "" && !validKeyID(id) {
			err = errors.New("no token can have this ID")
		}
		if err != nil {
			found.add("key %.140q: %w", id, err)
		}
		table.byID[id] = []tableKey{{key: bound}}
	}
	return keyRing{table}
}

func (r keyRing) find(_ context.Context, t *token) (*key, error) {
	return r.keyTable.find(t.algorithm, t.keyID)
}
