package jwttenant_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// claimCase is the tenant claim of an otherwise good token, and the tenant that it gives; "" where it is forbidden.
type claimCase struct {
	claim any
	want  string
}

func checkClaims(t *testing.T, change func(*jwttenant.Issuer), cases []claimCase) {
	t.Helper()
	issuer := hmacIssuer()
	change(&issuer)
	r := newResolver(t, issuer)
	for _, c := range cases {
		payload := token(claims{"tenant_id": c.claim})
		want := error(nil)
		if c.want == "" {
			want = tenant.ErrForbidden
		}
		for range 2 { // the second time it may be remembered
			if got := checkAnswer(t, r, request(payload), want); got.ID != c.want {
				t.Errorf("tenant %q for the claim %v, want %q", got.ID, c.claim, c.want)
			}
		}
	}
}

func TestResolve_WholeNumbersNameTenantsByOption(t *testing.T) {
	checkClaims(t, func(*jwttenant.Issuer) {}, []claimCase{{42, ""}, {"42", "42"}})
	checkClaims(t, func(i *jwttenant.Issuer) { i.TenantInteger = true }, []claimCase{
		{"42", "42"}, {42, "42"}, {0, "0"}, {raw("9007199254740991"), "9007199254740991"},
		{raw("9007199254740992"), ""}, {raw("42.0"), ""}, {raw("4e1"), ""}, {raw("-1"), ""}, {raw("-0"), ""},
		{raw("true"), ""}, {nil, ""}, {raw("[42]"), ""}, {raw(`{"42":1}`), ""},
	})
}

func TestResolve_PrefixOfTheTenantClaim(t *testing.T) {
	checkClaims(t, func(i *jwttenant.Issuer) { i.TenantPrefix = "tenant:" }, []claimCase{
		{"tenant:acme", "acme"}, {"acme", ""}, {"tenant:", ""}, {"Tenant:acme", ""}, {"tenant:tenant:acme", ""},
		{"xtenant:acme", ""},
	})
}

func TestResolve_ListOfTenants(t *testing.T) {
	lists := []any{[]string{"acme"}, []string{"acme", "globex"}, []string{}, raw(`{"acme":{"id":"x"}}`)}
	var all []claimCase
	for _, list := range lists {
		all = append(all, claimCase{list, ""})
	}
	checkClaims(t, func(*jwttenant.Issuer) {}, all)

	only := func(i *jwttenant.Issuer) { i.TenantSelect = jwttenant.OnlyTenant }
	checkClaims(t, only, []claimCase{
		{[]string{"acme"}, "acme"}, {[]string{"acme", "acme"}, "acme"}, {"acme", "acme"},
		{raw(`{"acme":{"id":"x"}}`), "acme"}, {raw(`{"\u0061cme":null}`), "acme"},
		{[]string{"acme", "globex"}, ""}, {raw(`{"acme":1,"globex":2}`), ""},
		{[]string{}, ""}, {raw("{}"), ""}, {nil, ""}, {7, ""}, {absent, ""},
		{[]any{"acme", 7, nil, "../x", []string{"globex"}}, "acme"}, // what is no ID names nobody
		{raw(`[["acme"]]`), ""},
	})
	checkClaims(t, func(i *jwttenant.Issuer) { only(i); i.TenantPrefix = "/tenants/" }, []claimCase{
		{[]string{"/admins", "/tenants/acme"}, "acme"}, {[]string{"acme"}, ""},
		{[]string{"/tenants/acme", "/tenants/globex"}, ""}, {[]string{"/tenants/acme/admins"}, ""},
	})
	checkClaims(t, func(i *jwttenant.Issuer) { only(i); i.Tenants = []string{"acme"} }, []claimCase{
		{[]string{"acme", "globex"}, "acme"}, {[]string{"globex"}, ""},
	})
	checkClaims(t, func(i *jwttenant.Issuer) { only(i); i.TenantInteger = true }, []claimCase{{[]any{7, 7.5}, "7"}})
}

// TestResolve_TenantIsSelectedForEachRequest: the token is one, and remembered.
func TestResolve_TenantIsSelectedForEachRequest(t *testing.T) {
	issuer := hmacIssuer()
	var offered [][]string
	issuer.TenantSelect = func(r *http.Request, ids []string) (string, bool) {
		offered = append(offered, slices.Clone(ids))
		clear(ids) // its own
		name, ok := strings.CutPrefix(r.URL.Path, "/t/")
		return name, ok
	}
	r := newResolver(t, issuer)
	list := token(claims{"tenant_id": []string{"acme", "globex"}})
	for _, c := range []struct{ path, want string }{
		{"/t/acme", "acme"}, {"/t/globex", "globex"}, {"/t/acme", "acme"}, {"/t/initech", ""}, {"/", ""}, {"/t/", ""},
	} {
		req := request(list)
		req.URL.Path = c.path
		want := error(nil)
		if c.want == "" {
			want = tenant.ErrForbidden
		}
		if got := checkAnswer(t, r, req, want); got.ID != c.want {
			t.Errorf("%s: tenant %q, want %q", c.path, got.ID, c.want)
		}
	}
	checkVerified(t, r, 1, 5)
	for _, ids := range offered {
		if diff := cmp.Diff([]string{"acme", "globex"}, ids); diff != "" {
			t.Errorf("offered (-want +got):\n%s", diff)
		}
	}
}

func TestTenantOfHost_ChoosesAmongTheTokensTenants(t *testing.T) {
	issuer := hmacIssuer()
	issuer.TenantSelect = jwttenant.TenantOfHost("example.com")
	r := newResolver(t, issuer)
	list := token(claims{"tenant_id": []string{"acme", "globex", "Initech"}})
	for host, want := range map[string]string{
		"acme.example.com": "acme", "GLOBEX.example.com:8443": "globex", "acme.example.com.": "acme",
		"initech.example.com": "", "hooli.example.com": "", "example.com": "", "acme.example.org": "", "10.0.0.1": "", "": "",
	} {
		req := request(list)
		req.Host = host
		answer := error(nil)
		if want == "" {
			answer = tenant.ErrForbidden
		}
		if got := checkAnswer(t, r, req, answer); got.ID != want {
			t.Errorf("host %q: tenant %q, want %q", host, got.ID, want)
		}
	}
}
