package jwttenant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Config configures a [Resolver].
type Config struct {
	// Issuers are whose tokens are accepted; at least one. A token is judged by the one that its iss names and by no
	// other, so no two may have the same name.
	Issuers []Issuer
	// Leeway is by how much the issuers' clocks may differ from this one's, when exp, nbf and iat are judged. 0: 30
	// seconds. Less than 0 or more than a minute is an error; for none, say a nanosecond.
	Leeway time.Duration
	// MaxTokenBytes bounds a token's length; a longer one is refused before it is looked at. 0: 8192. Less than 0 or more
	// than 65536 is an error.
	MaxTokenBytes int
}

// Issuer is who issues tokens, and what it is trusted with.
type Issuer struct {
	// Issuer is the exact iss of the tokens. Required.
	Issuer string
	// Audience is this service, one of the names in aud. Required: without it, a token for any other service of the
	// issuer's would do here too.
	Audience string
	// Algorithms are the alg values that are accepted: of HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512,
	// ES256, ES384, ES512 and EdDSA (Ed25519). At least one, and HMAC (HS...) never beside another kind. One for each
	// kind of key is all an issuer should need.
	Algorithms []string
	// Keys verify the signatures. Required.
	Keys KeySource

	// TenantClaim is the path to the claim with the tenant's ID: {"o", "id"} is id inside of the claim o,
	// {"https://example.com/org"} one claim by its exact name. Required. A token without a valid ID there is forbidden.
	TenantClaim []string
	// TierClaim is the path to the claim with the name of the tenant's tier. Empty: the issuer is not asked, and its
	// tokens assert no tier. A claim that is not the name of a tier is ignored, and counted.
	TierClaim []string
	// Tenants are the only tenants that the issuer may speak for; a token for another one is forbidden.
	Tenants []string
	// AnyTenant says that the issuer may speak for every tenant. With one issuer that goes without saying, unless it has
	// Tenants; with several each must have either Tenants or AnyTenant.
	AnyTenant bool
	// RFC9068 accepts nothing but access tokens as RFC 9068 has them: typ is "at+jwt", and sub, client_id, iat and jti
	// are required too.
	RFC9068 bool
}

const (
	defaultLeeway, maxLeeway         = 30 * time.Second, time.Minute
	defaultTokenBytes, maxTokenBytes = 8 << 10, 64 << 10
)

// New returns a resolver of tenants for cfg. The error names everything that is wrong with cfg.
func New(cfg Config) (*Resolver, error) {
	r := &Resolver{
		issuers:  make(map[string]*issuer, len(cfg.Issuers)),
		leeway:   cfg.Leeway,
		maxBytes: cfg.MaxTokenBytes,
	}
	if r.leeway == 0 {
		r.leeway = defaultLeeway
	}
	if r.maxBytes == 0 {
		r.maxBytes = defaultTokenBytes
	}
	var errs []error
	found := faults{"jwttenant: ", &errs}
	if r.leeway < 0 || r.leeway > maxLeeway {
		found.add("Leeway is %v, want 0 to %v", cfg.Leeway, maxLeeway)
	}
	if r.maxBytes < 0 || r.maxBytes > maxTokenBytes {
		found.add("MaxTokenBytes is %d, want 0 to %d", cfg.MaxTokenBytes, maxTokenBytes)
	}
	if len(cfg.Issuers) == 0 {
		found.add("Issuers is empty")
	}
	for n, c := range cfg.Issuers {
		if _, ok := r.issuers[c.Issuer]; ok {
			found.add("Issuers[%d].Issuer is that of an earlier one", n)
		}
		r.issuers[c.Issuer] = c.open(faults{fmt.Sprintf("jwttenant: Issuers[%d].", n), &errs}, len(cfg.Issuers) == 1)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// faults collects what is wrong with a Config. Each begins with the name of its field, after where.
type faults struct {
	where string
	errs  *[]error
}

func (f faults) add(format string, args ...any) {
	*f.errs = append(*f.errs, fmt.Errorf(f.where+format, args...))
}

// open returns the issuer ready for use, unless it adds to found. alone says that there is no other issuer.
func (c Issuer) open(found faults, alone bool) *issuer {
	if c.Issuer == "" {
		found.add("Issuer is empty")
	}
	if c.Audience == "" {
		found.add("Audience is empty")
	}
	algs := findAlgorithms(c.Algorithms, found)
	var keys keySet
	if c.Keys.open == nil {
		found.add("Keys is empty")
	} else if len(algs) > 0 {
		var err error
		if keys, err = c.Keys.open(algs); err != nil {
			found.add("Keys: %w", err)
		}
	}
	if len(c.TenantClaim) == 0 {
		found.add("TenantClaim is empty")
	}
	if slices.Contains(c.TenantClaim, "") {
		found.add("TenantClaim has an empty name in its path")
	}
	if slices.Contains(c.TierClaim, "") {
		found.add("TierClaim has an empty name in its path")
	}
	return &issuer{
		audience:    c.Audience,
		algorithms:  algs,
		keys:        keys,
		tenantClaim: slices.Clone(c.TenantClaim),
		tierClaim:   slices.Clone(c.TierClaim),
		tenants:     c.tenantSet(found, alone),
		accessToken: c.RFC9068,
	}
}

// findAlgorithms returns the algorithms of these names, none where something is wrong with one.
func findAlgorithms(names []string, found faults) []*algorithm {
	if len(names) == 0 {
		found.add("Algorithms is empty")
	}
	var algs []*algorithm
	for n, name := range names {
		alg, ok := algorithms[name]
		switch {
		case !ok:
			found.add("Algorithms[%d] is %.40q, which is no algorithm (names are case-sensitive)", n, name)
			return nil
		case slices.Contains(algs, alg):
			found.add("Algorithms[%d] is %s once more", n, name)
			return nil
		case n > 0 && alg.symmetric() != algs[0].symmetric():
			found.add("Algorithms has HMAC beside other kinds: %s", strings.Join(names, ", "))
			return nil
		}
		algs = append(algs, alg)
	}
	return algs
}

// tenantSet returns the tenants that the issuer may speak for, nil where it may for any. Where that matters, it must be
// said.
func (c Issuer) tenantSet(found faults, alone bool) map[string]struct{} {
	switch {
	case c.AnyTenant && c.Tenants != nil:
		found.add("Tenants is set beside AnyTenant")
	case c.Tenants == nil && !c.AnyTenant && !alone:
		found.add("Tenants or AnyTenant is required with several issuers")
	}
	if c.Tenants == nil {
		return nil
	}
	if len(c.Tenants) == 0 {
		found.add("Tenants is an empty list, want nil or tenants")
	}
	set := make(map[string]struct{}, len(c.Tenants))
	for n, id := range c.Tenants {
		if !tenant.ValidID(id) {
			found.add("Tenants[%d]: %w", n, tenant.ErrInvalidID)
		}
		set[id] = struct{}{}
	}
	return set
}
