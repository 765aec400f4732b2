package middleware_test

import (
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/tenant"
)

// ignorant is a resolver that has ignored claims.
type ignorant struct{ resolverFunc }

func (ignorant) IgnoredTierClaims() uint64 { return 7 }

// verifying is a resolver that says how it is doing.
type verifying struct {
	resolverFunc
	stats tenant.ResolverStats
}

func (v verifying) Stats() tenant.ResolverStats { return v.stats }

func TestMetrics_SayHowResolversAreDoing(t *testing.T) {
	one := verifying{named, tenant.ResolverStats{Recalled: 90, Verified: 10, Remembered: 4, Keys: []tenant.IssuerKeyStats{
		{Issuer: "https://a/", Keys: 2, Skipped: 1, Fetches: 5, Failures: 3, Fetched: time.Unix(1_700_000_000, 5)},
		{Issuer: "b\xff"},
	}}}
	other := verifying{named, tenant.ResolverStats{Recalled: 1, Verified: 2, Remembered: 3, Keys: []tenant.IssuerKeyStats{
		{Issuer: "https://c/", Keys: 1}, {Issuer: "b\xff", Keys: 9},
	}}}
	g := newGate(t, middleware.Config{
		Resolver: tenant.First(ignorant{named}, tenant.Subdomain("example.com", one), tenant.First(ignorant{named}, other)),
	})
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"ignored_tier_claims_total", nil, 14},
		{"token_checks_total", []string{"by", "memory"}, 91},
		{"token_checks_total", []string{"by", "signature"}, 12},
		{"remembered_tokens", nil, 7},
		{"issuer_keys", []string{"issuer", "https://a/"}, 2},
		{"issuer_keys", []string{"issuer", "https://c/"}, 1},
		{"issuer_keys", []string{"issuer", "b?"}, 9},
		{"issuer_skipped_keys", []string{"issuer", "https://a/"}, 1},
		{"issuer_key_fetches_total", []string{"issuer", "https://a/"}, 5},
		{"issuer_key_fetch_failures_total", []string{"issuer", "https://a/"}, 3},
		{"issuer_keys_fetched_timestamp_seconds", []string{"issuer", "https://a/"}, 1_700_000_000},
		{"issuer_keys_fetched_timestamp_seconds", []string{"issuer", "https://c/"}, 0},
	} {
		if got := value(t, g, "tenantgate_"+want.name, want.labels...); got != want.value {
			t.Errorf("%s %v is %v, want %v", want.name, want.labels, got, want.value)
		}
	}
}

func TestMetrics_CountResolversThatAreAskedInTwoWaysOnce(t *testing.T) {
	r := &verifying{named, tenant.ResolverStats{Verified: 5}}
	g := newGate(t, middleware.Config{Resolver: tenant.First(tenant.Subdomain("example.com", r), r, named)})
	if got := value(t, g, "tenantgate_token_checks_total", "by", "signature"); got != 5 {
		t.Errorf("%v tokens counted, want 5", got)
	}
}

func TestMetrics_SayNothingOfResolversThatSayNothing(t *testing.T) {
	for name, resolver := range map[string]tenant.Resolver{"none": nil, "a plain one": named, "several": tenant.First(named)} {
		families := scrape(t, newGate(t, middleware.Config{Resolver: resolver}))
		for _, metric := range []string{"ignored_tier_claims_total", "token_checks_total", "remembered_tokens", "issuer_keys"} {
			if _, ok := families["tenantgate_"+metric]; ok {
				t.Errorf("%s: there is a metric %s", name, metric)
			}
		}
	}
}
