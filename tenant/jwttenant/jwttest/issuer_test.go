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
			_, err := r.Resolve(issuer.Authorize(newRequest(), c.tenant, c.claims...))
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestIssuer_EachHasItsOwnKey(t *testing.T) {
	r := newResolver(t, jwttest.New(jwttenant.Issuer{}))
	_, err := r.Resolve(jwttest.New(jwttenant.Issuer{}).Authorize(newRequest(), tenant.Tenant{ID: "acme"}))
	if !errors.Is(err, tenant.ErrInvalid) {
		t.Errorf("error %v, want %v", err, tenant.ErrInvalid)
	}
}

func TestIssuer_TokenIsGoodForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := jwttest.New(jwttenant.Issuer{})
		r := newResolver(t, issuer)
		req := issuer.Authorize(newRequest(), tenant.Tenant{ID: "acme"})
		time.Sleep(time.Hour)
		if _, err := r.Resolve(req); err != nil {
			t.Errorf("after an hour, within leeway: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := r.Resolve(req); !errors.Is(err, tenant.ErrInvalid) {
			t.Errorf("after an hour and a minute: error %v, want %v", err, tenant.ErrInvalid)
		}
	})
}

func TestNew_UnknownAlgorithmPanics(t *testing.T) {
	for _, alg := range []string{"none", "es256", "HS1"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New with %s does not panic", alg)
				}
			}()
			jwttest.New(jwttenant.Issuer{Algorithms: []string{alg}})
		}()
	}
}
