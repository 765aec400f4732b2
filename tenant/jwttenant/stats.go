package jwttenant

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenantgate/tenantgate/tenant"
)

// Stats are counts since [New], and what is so now.
type Stats = tenant.ResolverStats

// KeyStats are those of the keys that are fetched for one issuer.
type KeyStats = tenant.KeyStats

// Stats returns the counts so far.
func (r *Resolver) Stats() Stats {
	s := Stats{
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

// Ready returns nil if there are keys to judge the tokens of every issuer by, for a readiness probe. Where keys are just
// being fetched for the first time it waits for them, as long as ctx lets it; otherwise it does not wait. The error says
// for which issuers there are none, and why. An issuer that is down once its keys are there changes nothing until they
// are too old ([JWKSConfig.MaxStale]).
func (r *Resolver) Ready(ctx context.Context) error {
	var errs []error
	for _, keys := range r.fetched {
		if err := keys.ready(ctx); err != nil {
			errs = append(errs, fmt.Errorf("jwttenant: issuer %.140q: %w", keys.issuer, err))
		}
	}
	return errors.Join(errs...)
}

// Close ends the fetching of keys and waits until it has. From then on the tokens of those issuers are refused with
// [tenant.ErrUnavailable], because nobody would notice that a key was taken back. It does nothing where no keys are
// fetched, and nothing the second time. Do not call it from what the fetching calls: a Logger, a Transport.
func (r *Resolver) Close() {
	for _, keys := range r.fetched {
		keys.close()
	}
}
