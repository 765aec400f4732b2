package jwttenant

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// verified is a token that was found good: what it says, and what has to be asked of it each time it comes.
type verified struct {
	issuer *issuer
	key    *key // what signed it
	from   time.Time
	until  time.Time // from and until have the leeway in them

	tenant      tenant.Tenant // without ID where there are choices
	choices     []string      // the tenants among which Issuer.TenantSelect chooses, for each request
	id          string        // jti
	expires     time.Time     // exp
	ignoredTier bool
}

// lasts reports whether the token is still good at the time now.
func (v *verified) lasts(now time.Time) bool {
	return now.Before(v.until) && !now.Before(v.from) && !v.key.gone.Load()
}

// owner says on whose account the token is remembered: the tenant's, or for one that names several that of all of them
// together, so that no tenant that others are in too, such as everybody's demo, is charged for theirs.
func (v *verified) owner() string {
	if len(v.choices) > 0 {
		return strings.Join(v.choices, ",")
	}
	return v.tenant.ID
}

// choose makes t the tenant of a request, where its token names several.
func (v *verified) choose(r *http.Request) (tenant.Tenant, error) {
	t := v.tenant
	if len(v.choices) == 0 {
		return t, nil
	}
	id, ok := v.issuer.tenantSelect(r, slices.Clone(v.choices))
	if !ok || !slices.Contains(v.choices, id) {
		return tenant.Tenant{}, errNotChosen
	}
	t.ID = id
	return t, nil
}
