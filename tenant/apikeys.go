package tenant

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// maxKeyLen bounds API keys, in bytes.
const maxKeyLen = 512

var (
	// errAPIKey is one for every key that is not good, so that nobody learns from it how near a guess came.
	errAPIKey      = fmt.Errorf("%w: no API key of this service", ErrInvalid)
	errNotOneKey   = fmt.Errorf("%w: not exactly one API key", ErrMalformed)
	errKeyOfNobody = fmt.Errorf("%w: the API key is looked up as a tenant without a valid ID", ErrForbidden)
)

// APIKeysConfig says where requests carry API keys, and whose the keys are. All fields may be zero: then no key is good
// until [APIKeys.Set].
type APIKeysConfig struct {
	// Header is the header that carries the key, and nothing else. Empty: X-Api-Key. It must not be set where Scheme
	// is. A name with '_' for '-' is another header.
	Header string
	// Scheme, where it is set, says that the key is in the Authorization header, after this scheme and a space:
	// "ApiKey", or "Bearer". It is compared without case.
	Scheme string
	// Prefix is what every key begins with, as in "acme_live_": it lets people and scanners of leaked secrets tell
	// whose a key is. At most 128 bytes; empty: anything.
	//
	// With the scheme Bearer it must be set, and tells keys from tokens: what begins with something else is no API key
	// but [ErrNoCredential], so that First(keys, tokens) leaves it to tokens. Where nobody reads tokens use another
	// scheme, lest [Anonymous] lets in who has a bad one. No JSON web token may begin with the prefix.
	Prefix string
	// Keys are the keys to start with, by [HashAPIKey]; see [APIKeys.Set] for what a Tenant may say. The map is copied.
	Keys map[[sha256.Size]byte]Tenant
	// Lookup finds the tenant of a key in the service's own store. Nil: there is none. It is called for every request
	// whose key is not among Keys or set since, concurrently, with the request's context: nothing is remembered, because
	// a remembered key would outlive its revocation. For a store that is too slow for that put a cache in front which
	// knows how late a revocation may be; strangers choose the unknown keys, so it must stay bounded under those.
	//
	// A key that it does not know is [ErrInvalid]. That and the other errors of a [Resolver] are passed on, except
	// ErrNoCredential: there is one. Any other error counts as [ErrUnavailable], and still matches what it did. A tenant
	// without a valid ID is [ErrForbidden]; a Tier that no tier can be called is ignored.
	Lookup func(ctx context.Context, hash [sha256.Size]byte) (Tenant, error)
}

// APIKeys is a [Resolver] that finds the tenant of a request by an API key. It keeps the SHA-256 of each key and no
// key, so that a look at its memory, or at the store behind it, lets nobody in. That holds for keys that nobody can
// guess, such as those of [GenerateAPIKey]; it is not for passwords.
//
// A key that is there is never passed over: one that is empty, longer than 512 bytes, has other than printable ASCII in
// it, or is not known is [ErrInvalid], and two of them are [ErrMalformed]. Without one it is [ErrNoCredential].
//
// All methods may be called concurrently. The zero APIKeys is not usable: see [NewAPIKeys].
type APIKeys struct {
	header string // in canonical form
	scheme string
	prefix string
	shared bool // the scheme's credentials without the prefix are somebody else's
	lookup func(context.Context, [sha256.Size]byte) (Tenant, error)
	seed   maphash.Seed

	ignoredTiers atomic.Uint64

	mu   sync.RWMutex
	keys map[uint64][]apiKey // by sum of the hash; no list is empty
}

type apiKey struct {
	hash   [sha256.Size]byte
	tenant func() Tenant // a function, because fmt prints all of a Tenant that it finds in an unexported field
}

// NewAPIKeys returns a resolver of the keys that cfg describes. The error names every field that is wrong.
func NewAPIKeys(cfg APIKeysConfig) (*APIKeys, error) {
	k := &APIKeys{
		header: textproto.CanonicalMIMEHeaderKey(cmp.Or(cfg.Header, "X-Api-Key")),
		scheme: cfg.Scheme,
		prefix: cfg.Prefix,
		shared: strings.EqualFold(cfg.Scheme, "Bearer"),
		lookup: cfg.Lookup,
		seed:   maphash.MakeSeed(),
		keys:   make(map[uint64][]apiKey, len(cfg.Keys)),
	}
	errs := k.check(cfg.Header)
	for _, hash := range slices.SortedFunc(maps.Keys(cfg.Keys), compareHashes) {
		if err := k.Set(hash, cfg.Keys[hash]); err != nil {
			errs = append(errs, fmt.Errorf("tenant: APIKeysConfig.Keys[%x...]: %w", hash[:4], err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if k.scheme != "" {
		k.header = "Authorization"
	}
	return k, nil
}

func compareHashes(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) }

// check returns what is wrong with where the keys are said to be. No name is repeated that might be a key in the wrong
// field.
func (k *APIKeys) check(header string) (errs []error) {
	fail := func(field, fault string) {
		errs = append(errs, fmt.Errorf("tenant: APIKeysConfig.%s: %s", field, fault))
	}
	switch {
	case !isToken(k.header):
		fail("Header", "not the name of a header")
	case k.scheme != "" && header != "":
		fail("Header", "must be empty with a Scheme, which is in the Authorization header")
	case slices.Contains([]string{"Authorization", "Cookie", "Host"}, k.header):
		fail("Header", "this header is for something else; set Scheme for the Authorization header")
	}
	if k.scheme != "" && !isToken(k.scheme) {
		fail("Scheme", "not the name of a scheme")
	}
	switch {
	case !usablePrefix(k.prefix):
		fail("Prefix", errPrefix.Error())
	case k.shared && k.prefix == "":
		fail("Prefix", "must be set with the scheme Bearer")
	case k.shared && (strings.HasPrefix(k.prefix, jwtPrefix) || strings.HasPrefix(jwtPrefix, k.prefix)):
		fail("Prefix", "JSON web tokens begin with it")
	}
	return errs
}

// jwtPrefix is how JSON web tokens begin: `{"` in base64.
const jwtPrefix = "eyJ"

// maxPrefixLen leaves a key more room than its randomness needs.
const maxPrefixLen = 128

var errPrefix = fmt.Errorf("want at most %d bytes of printable ASCII, no space and no comma", maxPrefixLen)

func usablePrefix(s string) bool { return s == "" || len(s) <= maxPrefixLen && isKey(s) }

// HashAPIKey returns the hash of an API key, which is what [APIKeys] keeps and a store should.
func HashAPIKey(key string) [sha256.Size]byte {
	if len(key) > maxKeyLen {
		return sha256.Sum256([]byte(key))
	}
	var buf [maxKeyLen]byte // a copy on the stack, where a conversion would be one on the heap
	return sha256.Sum256(buf[:copy(buf[:], key)])
}

// GenerateAPIKey makes an API key, prefix and then at least 128 random bits as capital letters and digits, and its hash.
// Show the key to its owner once, and keep the hash. A prefix that no key can have (see [APIKeysConfig]) panics.
func GenerateAPIKey(prefix string) (key string, hash [sha256.Size]byte) {
	if !usablePrefix(prefix) {
		panic("tenant: GenerateAPIKey: prefix: " + errPrefix.Error())
	}
	key = prefix + rand.Text()
	return key, HashAPIKey(key)
}

// Set makes the key with this hash one of t's from the next request on, whosever it was. What a request with the key
// gets is t as it stands: Subject may say which of the tenant's keys it is, and TierAsOf since when it is on its tier.
// The error is [ErrInvalidID], or says that t.Tier is no name of a tier; then nothing changes.
func (k *APIKeys) Set(hash [sha256.Size]byte, t Tenant) error {
	if !validName(t.ID) {
		return ErrInvalidID
	}
	if t.Tier != "" && !validTierName(t.Tier) {
		return errors.New("tenant: Tier is no name of a tier")
	}
	sum := k.sum(&hash)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[sum] = append(without(k.keys[sum], &hash), apiKey{hash, func() Tenant { return t }})
	return nil
}

// Remove makes the key with this hash unknown from the next request on, unless Lookup knows it.
func (k *APIKeys) Remove(hash [sha256.Size]byte) {
	sum := k.sum(&hash)
	k.mu.Lock()
	defer k.mu.Unlock()
	if left := without(k.keys[sum], &hash); len(left) > 0 {
		k.keys[sum] = left
	} else {
		delete(k.keys, sum)
	}
}

func without(keys []apiKey, hash *[sha256.Size]byte) []apiKey {
	return slices.DeleteFunc(keys, func(key apiKey) bool { return key.hash == *hash })
}

// Challenge is what a client is told to send where a key is missing or not good: the scheme, and where keys have a header
// of their own "ApiKey", which says as much but is not a scheme that is registered.
func (k *APIKeys) Challenge() string { return cmp.Or(k.scheme, "ApiKey") }

// IgnoredTierClaims counts tiers from Lookup that were ignored because a tier cannot be called that.
func (k *APIKeys) IgnoredTierClaims() uint64 { return k.ignoredTiers.Load() }

// Resolve returns the tenant of the request's key.
func (k *APIKeys) Resolve(r *http.Request) (Tenant, error) {
	key, err := k.credential(r.Header[k.header])
	if err != nil {
		return Tenant{}, err
	}
	hash := HashAPIKey(key)
	if found := k.find(&hash); found != nil {
		return found(), nil
	}
	if k.lookup == nil {
		return Tenant{}, errAPIKey
	}
	return k.ask(r.Context(), hash)
}

// find returns the tenant of the key with this hash; nil: there is none.
//
// How long an answer takes must not tell how much of a hash was right, as a map of the hashes themselves would, which
// compares from the front and stops: with that one could find out a stored hash, and search for its key at home. So the
// map has only a sum of the hash, seeded at random, which nobody outside can aim at, and the hashes are compared in
// constant time.
func (k *APIKeys) find(hash *[sha256.Size]byte) func() Tenant {
	sum := k.sum(hash)
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, key := range k.keys[sum] {
		if subtle.ConstantTimeCompare(key.hash[:], hash[:]) == 1 {
			return key.tenant
		}
	}
	return nil
}

func (k *APIKeys) sum(hash *[sha256.Size]byte) uint64 { return maphash.Bytes(k.seed, hash[:]) }

// ask asks Lookup, and trusts its answer no further than a credential's.
func (k *APIKeys) ask(ctx context.Context, hash [sha256.Size]byte) (Tenant, error) {
	t, err := k.lookup(ctx, hash)
	switch {
	case errors.Is(err, ErrNoCredential): // passed on, it would let the bearer of a bad key in as anonymous
		return Tenant{}, fmt.Errorf("%w: looking up an API key: %v", ErrUnavailable, err)
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrForbidden), errors.Is(err, ErrMalformed):
		return Tenant{}, err
	case err != nil:
		return Tenant{}, fmt.Errorf("%w: looking up an API key: %w", ErrUnavailable, err)
	case !validName(t.ID):
		return Tenant{}, errKeyOfNobody
	}
	if t.Tier != "" && !validTierName(t.Tier) {
		k.ignoredTiers.Add(1)
		t.Tier = ""
	}
	return t, nil
}
