package jwttest_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

func newResolver(t *testing.T, issuers ...*jwttest.Issuer) *jwttenant.Resolver {
	t.Helper()
	var cfg jwttenant.Config
	for _, i := range issuers {
		cfg.Issuers = append(cfg.Issuers, i.Config())
	}
	r, err := jwttenant.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newRequest() *http.Request { return httptest.NewRequest(http.MethodGet, "/", nil) }

// check fails unless r's answer to req is want; nil: a tenant.
func check(t *testing.T, r *jwttenant.Resolver, req *http.Request, want error) {
	t.Helper()
	if _, err := r.Resolve(req); !errors.Is(err, want) {
		t.Errorf("Resolve: error %v, want %v", err, want)
	}
}

func TestIssuer_TokensOfAnyIssuerAreAccepted(t *testing.T) {
	for name, like := range map[string]jwttenant.Issuer{
		"zero":    {},
		"RFC9068": {RFC9068: true},
		"named":   {Issuer: "https://id.example.com/", Audience: "orders-api"},
		"nested":  {TenantClaim: []string{"o", "id"}, TierClaim: []string{"o", "plan"}},
		"tenants": {Tenants: []string{"acme"}},
		"prefix":  {TenantPrefix: "tenant:"},
		"number":  {TenantInteger: true},
		"list":    {TenantSelect: jwttenant.OnlyTenant},
		"azp":     {AudienceClaim: "azp"},
		"values":  {Issuer: "https://id.example.com/{tid}/v2.0", IssuerValues: []string{"a", "b"}, AnyTenant: true},
		"claims":  {RequiredClaims: map[string][]string{"token_use": {"access"}, "azp": nil, "sts": {"", "active"}}},
		"tid":     {Issuer: "https://{tid}/", IssuerValues: []string{"globex", "acme"}, TenantClaim: []string{"tid"}},
		"tid too": {
			Issuer: "https://{tid}/", IssuerValues: []string{"globex", "acme"}, TenantClaim: []string{"tid"},
			TenantSelect: jwttenant.OnlyTenant,
		},
		"several": {Algorithms: []string{"ES384", "RS256"}},
		"HS256":   {Algorithms: []string{"HS256"}},
		"HS512":   {Algorithms: []string{"HS512"}},
		"RS256":   {Algorithms: []string{"RS256"}},
		"PS384":   {Algorithms: []string{"PS384"}},
		"ES512":   {Algorithms: []string{"ES512"}},
		"EdDSA":   {Algorithms: []string{"EdDSA"}},
		"Ed25519": {Algorithms: []string{"Ed25519"}},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := jwttest.New(like)
			since := time.Unix(1_750_000_000, 0)
			want := tenant.Tenant{ID: "acme", Tier: "pro", TierAsOf: since, Subject: "user-7"}
			got, err := newResolver(t, issuer).Resolve(issuer.Authorize(newRequest(), want))
			if err != nil {
				t.Fatal(err)
			}
			got.Claims = ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tenant (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIssuer_ClaimsCanBeWrong(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{})
	r := newResolver(t, issuer)
	acme := tenant.Tenant{ID: "acme"}
	for _, c := range []struct {
		name   string
		tenant tenant.Tenant
		claims []jwttest.Claims
		want   error
	}{
		{"none", acme, nil, nil},
		{"extra", acme, []jwttest.Claims{{"scope": "read"}, {"scope": "write"}}, nil},
		{"expired", acme, []jwttest.Claims{jwttest.Expired()}, tenant.ErrInvalid},
		{"not yet", acme, []jwttest.Claims{{"nbf": time.Now().Add(time.Hour)}}, tenant.ErrInvalid},
		{"absent", acme, []jwttest.Claims{{"exp": jwttest.Absent}}, tenant.ErrInvalid},
		{"null", acme, []jwttest.Claims{{"exp": nil}}, tenant.ErrInvalid},
		{"another service's", acme, []jwttest.Claims{{"aud": "other"}}, tenant.ErrInvalid},
		{"no tenant", tenant.Tenant{}, nil, tenant.ErrForbidden},
		{"the later wins", acme, []jwttest.Claims{jwttest.Expired(), {"exp": time.Now().Add(time.Hour)}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, r, issuer.Authorize(newRequest(), c.tenant, c.claims...), c.want)
		})
	}
}

func TestIssuer_EachHasItsOwnKey(t *testing.T) {
	r := newResolver(t, jwttest.New(jwttenant.Issuer{}))
	other := jwttest.New(jwttenant.Issuer{})
	check(t, r, other.Authorize(newRequest(), tenant.Tenant{ID: "acme"}), tenant.ErrInvalid)
}

func TestIssuer_TokenIsGoodForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := jwttest.New(jwttenant.Issuer{})
		r := newResolver(t, issuer)
		req := issuer.Authorize(newRequest(), tenant.Tenant{ID: "acme"})
		time.Sleep(time.Hour)
		check(t, r, req, nil) // within leeway
		time.Sleep(time.Minute)
		check(t, r, req, tenant.ErrInvalid)
	})
}

func TestIssuer_SelectedTenantIsInAList(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{
		TenantClaim: []string{"o", "groups"}, TenantPrefix: "tenant:", TenantSelect: jwttenant.OnlyTenant,
	})
	got, err := newResolver(t, issuer).Resolve(issuer.Authorize(newRequest(), tenant.Tenant{ID: "acme"}))
	if err != nil {
		t.Fatal(err)
	}
	var claims struct{ O struct{ Groups []string } }
	if err := got.DecodeClaims(&claims); err != nil {
		t.Fatalf("DecodeClaims of %s: %v", got.Claims, err)
	}
	if diff := cmp.Diff([]string{"tenant:acme"}, claims.O.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// TestRotate_ConfigHasTheKeyOfItsTime: whatever kind of key it is.
func TestRotate_ConfigHasTheKeyOfItsTime(t *testing.T) {
	for _, alg := range []string{"HS256", "PS256", "ES256", "EdDSA"} {
		t.Run(alg, func(t *testing.T) {
			issuer := jwttest.New(jwttenant.Issuer{Algorithms: []string{alg}})
			before := newResolver(t, issuer)
			old := issuer.Authorize(newRequest(), tenant.Tenant{ID: "acme"})
			issuer.Rotate()
			after := newResolver(t, issuer)
			fresh := issuer.Authorize(newRequest(), tenant.Tenant{ID: "acme"})

			check(t, before, old, nil)
			check(t, before, fresh, tenant.ErrInvalid)
			check(t, after, old, tenant.ErrInvalid)
			check(t, after, fresh, nil)
		})
	}
}

func TestNew_PanicsOnWhatIsWrong(t *testing.T) {
	for name, like := range map[string]jwttenant.Issuer{
		"algorithm none":     {Algorithms: []string{"none"}},
		"algorithm es256":    {Algorithms: []string{"es256"}},
		"algorithm HS1":      {Algorithms: []string{"HS1"}},
		"no values":          {Issuer: "https://{tid}/"},
		"a provider's fault": {Err: errors.New("the domain is a URL")},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New does not panic", name)
				}
			}()
			jwttest.New(like)
		}()
	}
}
