package jwttenant

import "github.com/tenantgate/tenantgate/tenant"

// Stats returns the counts since [New], and what is so now.
func (r *Resolver) Stats() tenant.ResolverStats {
	s := tenant.ResolverStats{
		Accepted:          r.accepted.Load(),
		Refused:           r.refused.Load(),
		Recalled:          r.recalled.Load(),
		Verified:          r.verified.Load(),
		IgnoredTierClaims: r.ignoredTiers.Load(),
	}
	if r.memory != nil {
		s.Remembered = r.memory.len()
	}
	for _, keys := range r.fetched {
		k := keys.stats()
		k.Issuer = keys.issuer
		s.Keys = append(s.Keys, k)
	}
	return s
}

// IgnoredTierClaims returns the count of that name in [Resolver.Stats].
func (r *Resolver) IgnoredTierClaims() uint64 { return r.ignoredTiers.Load() }
