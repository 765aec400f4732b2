package middleware

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenantgate/tenantgate/tenant"
)

// resolverDescriptions are the metrics of a resolver that verifies tokens.
type resolverDescriptions struct {
	ignoredClaims, checks, remembered           *prometheus.Desc
	keys, skipped, fetches, failures, fetchedAt *prometheus.Desc
}

func newResolverDescriptions(desc func(name, help string, labels ...string) *prometheus.Desc) resolverDescriptions {
	return resolverDescriptions{
		ignoredClaims: desc("ignored_tier_claims_total", "Tier claims in credentials that are not the name of a tier."),
		checks: desc("token_checks_total", "Tokens by what they were judged by: the memory of good ones, or their "+
			"signature.", "by"),
		remembered: desc("remembered_tokens", "Tokens in the memory of good ones, some of which may be good no more."),

		keys:     desc("issuer_keys", "Keys of an issuer, as far as they are fetched, that tokens are verified with.", "issuer"),
		skipped:  desc("issuer_skipped_keys", "Keys that an issuer publishes and that do not count.", "issuer"),
		fetches:  desc("issuer_key_fetches_total", "How often the keys of an issuer were to be fetched.", "issuer"),
		failures: desc("issuer_key_fetch_failures_total", "How often fetching the keys of an issuer failed.", "issuer"),
		fetchedAt: desc("issuer_keys_fetched_timestamp_seconds", "When the keys of an issuer were last fetched, in seconds "+
			"since 1970; 0 before the first time.", "issuer"),
	}
}

func (d *resolverDescriptions) describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		d.ignoredClaims, d.checks, d.remembered, d.keys, d.skipped, d.fetches, d.failures, d.fetchedAt,
	} {
		ch <- desc
	}
}

// collect sends what root, and those that it asks, say of themselves.
func (d *resolverDescriptions) collect(ch chan<- prometheus.Metric, root tenant.Resolver) {
	var ignored uint64
	var sum tenant.ResolverStats
	issuers := map[string]tenant.IssuerKeyStats{}
	ignores, verifies := false, false
	for _, r := range resolvers(root) {
		if ignoring, ok := r.(interface{ IgnoredTierClaims() uint64 }); ok {
			ignores = true
			ignored += ignoring.IgnoredTierClaims()
		}
		verifying, ok := r.(interface{ Stats() tenant.ResolverStats })
		if !ok {
			continue
		}
		verifies = true
		stats := verifying.Stats()
		sum.Recalled += stats.Recalled
		sum.Verified += stats.Verified
		sum.Remembered += stats.Remembered
		for _, k := range stats.Keys {
			issuers[strings.ToValidUTF8(k.Issuer, "?")] = k // of two resolvers' the last: a series can only be sent once
		}
	}
	if ignores {
		ch <- counter(d.ignoredClaims, ignored)
	}
	if verifies {
		ch <- counter(d.checks, sum.Recalled, "memory")
		ch <- counter(d.checks, sum.Verified, "signature")
		ch <- gauge(d.remembered, int64(sum.Remembered))
	}
	for issuer, k := range issuers {
		ch <- gauge(d.keys, int64(k.Keys), issuer)
		ch <- gauge(d.skipped, int64(k.Skipped), issuer)
		ch <- counter(d.fetches, k.Fetches, issuer)
		ch <- counter(d.failures, k.Failures, issuer)
		fetched := int64(0)
		if !k.Fetched.IsZero() {
			fetched = k.Fetched.Unix()
		}
		ch <- gauge(d.fetchedAt, fetched, issuer)
	}
}
