package jwttenant

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Stats are counts since [New], and what is so now.
type Stats struct {
	// Accepted and Refused count tokens. Requests without one are in neither.
	Accepted, Refused uint64
	// Recalled counts tokens that were found among the remembered ones, Verified those whose signature was looked at.
	Recalled, Verified uint64
	// IgnoredTierClaims counts accepted tokens with a tier claim that is not the name of a tier.
	IgnoredTierClaims uint64
	// Remembered is how many tokens are remembered now, some of which may be good no more.
	Remembered int
	// Keys are the keys that are fetched, one element for each issuer with such.
	Keys []KeyStats
}

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
// fetched, and nothing the second time.
func (r *Resolver) Close() {
	for _, keys := range r.fetched {
		keys.close()
	}
}

// KeyStats are counts of the keys that are fetched for one issuer, since [New], and what is so now.
type KeyStats struct {
	// Issuer is its name.
	Issuer string
	// Keys is how many keys tokens are verified with. Skipped is how many others the issuer publishes, that are not fit.
	Keys, Skipped int
	// Fetches and Failures count how often they were to be fetched, and how often in vain.
	Fetches, Failures uint64
	// Fetched is when the keys were last fetched; zero: never.
	Fetched time.Time
}
