package tenant

import (
	"net/http"
	"slices"
)

// Anonymous returns a resolver that lets every request in, as the one tenant [AnonymousID] on the tier of that name;
// "" is the catalogue's default tier. All of them share that tenant's bucket and lane, so that a crowd without
// credentials is limited as one.
//
// It looks at no request, so it must be the last of [First], where it is asked only about requests that carry no
// credential for the resolvers before it: one that is present but bad stays refused. [First] panics where it is not
// the last, for that would turn the checks behind it off. Alone, it makes everybody anonymous, whatever they present.
//
// A name that no tier can have panics. One that the catalogue does not have means the default tier, as everywhere.
func Anonymous(tier string) Resolver {
	if tier != "" && !validTierName(tier) {
		panic("tenant: Anonymous: that is no name of a tier")
	}
	return anonymous{tier}
}

type anonymous struct{ tier string }

func (a anonymous) Resolve(*http.Request) (Tenant, error) {
	return Tenant{ID: AnonymousID, Tier: a.tier}, nil
}

// admitsAnybody reports whether r is, or asks, a resolver that finds every request good.
func admitsAnybody(r Resolver) bool {
	if _, ok := r.(anonymous); ok {
		return true
	}
	w, ok := r.(interface{ Unwrap() []Resolver })
	return ok && slices.ContainsFunc(w.Unwrap(), admitsAnybody)
}

func validTierName(name string) bool { return validName(name) && !slices.Contains(policyNames, name) }
