package tenant

import "time"

// ResolverStats is what a [Resolver] that verifies tokens counts, since it was made, and what it has now. A resolver that
// has it has a method Stats() ResolverStats.
type ResolverStats struct {
	// Accepted and Refused count tokens. Requests without one are in neither.
	Accepted, Refused uint64
	// Recalled counts tokens that were found among the remembered ones, Verified those whose signature was looked at.
	Recalled, Verified uint64
	// IgnoredTierClaims counts accepted tokens with a tier claim that is not the name of a tier.
	IgnoredTierClaims uint64
	// Remembered is how many tokens are remembered now, some of which may be good no more.
	Remembered int
	// Keys are those that are fetched, one element for each issuer with such.
	Keys []IssuerKeyStats
}

// IssuerKeyStats are counts of the keys that are fetched for one issuer, and what is so now.
type IssuerKeyStats struct {
	// Issuer is its name.
	Issuer string
	// Keys is how many keys tokens are verified with. Skipped is how many others the issuer publishes that do not count.
	Keys, Skipped int
	// Fetches and Failures count how often they were to be fetched, and how often in vain.
	Fetches, Failures uint64
	// Fetched is when the keys were last fetched; zero: never.
	Fetched time.Time
}
