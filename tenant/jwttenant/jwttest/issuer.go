package jwttest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// Issuer mints tokens with a key of its own, and publishes it. Its methods may be called concurrently.
type Issuer struct {
	config jwttenant.Issuer    // but for Keys
	key    atomic.Pointer[key] // written with mu held

	mu   sync.Mutex
	made int // keys, the present one included
}

// New returns an issuer like the given one, but with a new key: it has the same name, audience, claims and tenants. Of
// several algorithms it has the first; of the values of a template too, unless the claim is the tenant's. What is empty
// is filled in:
//
//	Issuer       "https://issuer.test/"
//	Audience     "service.test"
//	Algorithms   ES256
//	TenantClaim  "tenant_id"
//	TierClaim    "plan"
//
// It panics on an algorithm that package jwttenant does not have, on a template without values, and on settings that a
// function of package provider has found wrong, as [jwttenant.New] would refuse them.
func New(like jwttenant.Issuer) *Issuer {
	if like.Err != nil {
		panic("jwttest: " + like.Err.Error())
	}
	if like.Issuer == "" {
		like.Issuer = "https://issuer.test/"
	}
	if like.Audience == "" {
		like.Audience = "service.test"
	}
	if len(like.Algorithms) == 0 {
		like.Algorithms = []string{"ES256"}
	}
	if len(like.TenantClaim) == 0 {
		like.TenantClaim = []string{"tenant_id"}
	}
	if len(like.TierClaim) == 0 {
		like.TierClaim = []string{"plan"}
	}
	if strings.Contains(like.Issuer, "{") && len(like.IssuerValues) == 0 {
		panic("jwttest: IssuerValues is empty, and Issuer is a template")
	}
	like.Algorithms = slices.Clone(like.Algorithms[:1])
	like.TenantClaim = slices.Clone(like.TenantClaim)
	like.TierClaim = slices.Clone(like.TierClaim)

	i := &Issuer{config: like}
	i.Rotate()
	return i
}

// Config returns the issuer as [jwttenant.Config] takes it, with the key that its tokens are verified with now. After
// [Issuer.Rotate] another call has another key; to have a resolver notice by itself, set Keys to [jwttenant.JWKS] or
// [jwttenant.Discovery] of a server whose handler is the issuer.
func (i *Issuer) Config() jwttenant.Issuer {
	c := i.config
	c.Keys = i.key.Load().source
	return c
}

// Rotate replaces the key by a new one with another kid: once it has returned, tokens are signed by the new key, and
// [Issuer.ServeHTTP] publishes no other. That is the hardest kind of rotation, as after a theft; most issuers publish both
// keys for as long as tokens of the old one are about.
//
// A resolver that fetches keys does so again when the first token of the new key comes, and refuses the old one's from
// then on; but that only once in [jwttenant.JWKSConfig.Cooldown]. A test that rotates again before sees
// tenant.ErrUnavailable, as a service would, unless it makes a new resolver.
func (i *Issuer) Rotate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.made++
	// By their numbers alone: so one issuer can be the forger of another's tokens, whose kid is known.
	i.key.Store(newKey(i.config.Algorithms[0], fmt.Sprintf("jwttest-%d", i.made)))
}
