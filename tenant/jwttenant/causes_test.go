package jwttenant_test

import (
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// TestRefusal_SaysWhatToMend: whoever wires a provider for the first time has nothing but these texts.
func TestRefusal_SaysWhatToMend(t *testing.T) {
	plain := func(*jwttenant.Issuer) {}
	lists := func(i *jwttenant.Issuer) { i.TenantSelect = jwttenant.OnlyTenant }
	requires := func(i *jwttenant.Issuer) { i.RequiredClaims = map[string][]string{"use": {"access"}} }
	for _, c := range []struct {
		change func(*jwttenant.Issuer)
		claims claims
		want   string
	}{
		{plain, claims{"tenant_id": absent}, "there is no tenant claim"},
		{plain, claims{"tenant_id": []string{"acme"}}, "not a text (see TenantInteger and TenantSelect)"},
		{plain, claims{"tenant_id": 7}, "not a text (see TenantInteger and TenantSelect)"},
		{plain, claims{"tenant_id": nil}, "not a text (see TenantInteger and TenantSelect)"},
		{plain, claims{"tenant_id": "a b"}, "not a tenant ID"},
		{func(i *jwttenant.Issuer) { i.TenantPrefix = "t:" }, claims{}, "without TenantPrefix"},
		{func(i *jwttenant.Issuer) { i.Tenants = []string{"globex"} }, claims{}, "may not speak for this tenant"},
		{lists, claims{"tenant_id": absent}, "there is no tenant claim"},
		{lists, claims{"tenant_id": []string{"a b"}}, "names no tenant that the issuer may speak for"},
		{lists, claims{"tenant_id": []string{"acme", "globex"}}, "none of the token's tenants is the request's"},
		{requires, claims{}, `the required claim "use" is missing`},
		{requires, claims{"use": "id"}, `the required claim "use" has another value`},
	} {
		issuer := hmacIssuer()
		c.change(&issuer)
		_, err := newResolver(t, issuer).Resolve(request(token(c.claims)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("claims %v: error %v, want one with %q", c.claims, err, c.want)
		}
	}
}
