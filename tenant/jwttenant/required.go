package jwttenant

import (
	"fmt"
	"maps"
	"slices"
)

// requiredClaim is one of [Issuer.RequiredClaims].
type requiredClaim struct {
	name           string
	values         []string
	missing, other error
}

// newRequiredClaims returns claims, ordered by name.
func newRequiredClaims(claims map[string][]string) (all []requiredClaim) {
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		all = append(all, requiredClaim{
			name:    name,
			values:  slices.Clone(claims[name]),
			missing: invalid(fmt.Sprintf("the required claim %.140q is missing", name)),
			other:   invalid(fmt.Sprintf("the required claim %.140q has another value", name)),
		})
	}
	return all
}

// check returns nil if claims have the claim as it is required. A missing one is as an empty text.
func (r *requiredClaim) check(claims object) error {
	value := claims.at(r.name)
	one, ok := text(value)
	switch {
	case len(r.values) == 0 && one != "", slices.Contains(r.values, one) && (ok || value == ""):
		return nil
	case value == "":
		return r.missing
	}
	return r.other
}
