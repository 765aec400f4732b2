package tenant_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// tokens returns a resolver of bearer tokens, of which eyJ.good is acme's and no other is good.
func tokens() tenant.Resolver { return resolverFunc(resolveToken) }

func TestAnonymous_CoversAbsenceOnly(t *testing.T) {
	bearer := newAPIKeys(t, tenant.APIKeysConfig{Scheme: "Bearer", Prefix: "tg_"})
	header := newAPIKeys(t, tenant.APIKeysConfig{})
	resolver := tenant.First(header, bearer, tokens(), tenant.Anonymous("free"))
	anybody := tenant.Tenant{ID: tenant.AnonymousID, Tier: "free"}
	tests := []struct {
		name    string
		lines   []string
		want    tenant.Tenant
		wantErr error
	}{
		{"nothing", nil, anybody, nil},
		{"another scheme", []string{"Authorization: Basic sentinel-7Qz"}, anybody, nil},
		{"headers that name a tenant", []string{"X-Tenant-Id: acme", "X_Tenant_Id: acme"}, anybody, nil},
		{"good token", []string{"Authorization: Bearer eyJ.good"}, acme, nil},
		{"good key", []string{"X-Api-Key: " + otherKey}, other, nil},
		{"good key as a bearer token", []string{"Authorization: Bearer " + otherKey}, other, nil},

		{"forged token", []string{"Authorization: Bearer eyJ.sentinel-7Qz"}, tenant.Tenant{}, tenant.ErrInvalid},
		{"unknown key", []string{"X-Api-Key: " + lostKey}, tenant.Tenant{}, tenant.ErrInvalid},
		{"unknown key, good token", []string{"X-Api-Key: " + lostKey, "Authorization: Bearer eyJ.good"},
			tenant.Tenant{}, tenant.ErrInvalid},
		{"unknown key as a bearer token", []string{"Authorization: Bearer " + lostKey}, tenant.Tenant{}, tenant.ErrInvalid},
		{"empty key", []string{"X-Api-Key:"}, tenant.Tenant{}, tenant.ErrInvalid},
		{"two keys", []string{"X-Api-Key: " + acmeKey, "X-Api-Key: " + acmeKey}, tenant.Tenant{}, tenant.ErrMalformed},
		{"nothing after Bearer", []string{"Authorization: Bearer"}, tenant.Tenant{}, tenant.ErrMalformed},
		{"two Authorization headers", []string{"Authorization: Bearer eyJ.good", "Authorization: Bearer eyJ.good"},
			tenant.Tenant{}, tenant.ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, resolver, received(t, tt.lines...), tt.want, tt.wantErr) })
	}
}

func TestAnonymous_AloneLetsEverybodyInAsNobody(t *testing.T) {
	r := received(t, "X-Api-Key: "+acmeKey, "Authorization: Bearer eyJ.good")
	check(t, tenant.Anonymous(""), r, tenant.Tenant{ID: tenant.AnonymousID}, nil)
}

func TestAnonymous_TierMustBeANameForOne(t *testing.T) {
	tenant.Anonymous("a-tier.of_mine") // whether there is one, the catalogue says
	for _, tier := range []string{"day", "cluster", "_x", "a b", "7Qz\n", strings.Repeat("x", 129)} {
		if text := panicText(func() { tenant.Anonymous(tier) }); !strings.HasPrefix(text, "tenant: Anonymous: ") {
			t.Errorf("Anonymous(%.20q) panics with %q, want one that says so", tier, text)
		}
	}
}

// TestFirst_AnonymousIsTheLast: before another resolver it would turn that off, however deep it is hidden.
func TestFirst_AnonymousIsTheLast(t *testing.T) {
	anybody := tenant.Anonymous("")
	for name, hidden := range map[string]tenant.Resolver{
		"itself":              anybody,
		"in First":            tenant.First(tokens(), anybody),
		"in First in First":   tenant.First(tenant.First(anybody)),
		"in Subdomain":        tenant.Subdomain("example.com", anybody),
		"in First, Subdomain": tenant.First(tokens(), tenant.Subdomain("example.com", tenant.First(tokens(), anybody))),
	} {
		const want = "tenant: First: resolver 0 is Anonymous, and not the last"
		if text := panicText(func() { tenant.First(hidden, tokens()) }); text != want {
			t.Errorf("%s: panic %q, want %q", name, text, want)
		}
		if text := panicText(func() { tenant.First(tokens(), hidden) }); text != "" {
			t.Errorf("%s: panic %q where it is the last", name, text)
		}
	}
}

func TestUnwrap_FindsTheResolversInside(t *testing.T) {
	keys, bearer := newAPIKeys(t, tenant.APIKeysConfig{}), newAPIKeys(t, tenant.APIKeysConfig{Scheme: "ApiKey"})
	resolver := tenant.First(tenant.Subdomain("example.com", keys), tenant.First(bearer), tenant.Anonymous(""))
	var found []tenant.Resolver
	var walk func(tenant.Resolver)
	walk = func(r tenant.Resolver) {
		if _, counts := r.(interface{ IgnoredTierClaims() uint64 }); counts {
			found = append(found, r)
		}
		if outer, ok := r.(interface{ Unwrap() []tenant.Resolver }); ok {
			inside := outer.Unwrap()
			for _, r := range inside {
				walk(r)
			}
			clear(inside)
		}
	}
	walk(resolver)
	if len(found) != 2 || found[0] != tenant.Resolver(keys) || found[1] != tenant.Resolver(bearer) {
		t.Errorf("found %d resolvers that count, want the two", len(found))
	}
	check(t, resolver, received(t, "Authorization: ApiKey "+acmeKey), acme, nil) // what was cleared is a copy
}

func resolveToken(r *http.Request) (tenant.Tenant, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 || !strings.HasPrefix(values[0], "Bearer ") {
		return tenant.Tenant{}, tenant.ErrNoCredential
	}
	if values[0] != "Bearer eyJ.good" {
		return tenant.Tenant{}, tenant.ErrInvalid
	}
	return acme, nil
}
