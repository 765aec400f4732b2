package middleware_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/internal/sentinel"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

const (
	goodKey    = sentinel.Text + "-of-initech"
	unknownKey = sentinel.Text + "-of-nobody"
)

// front is a gate with every way to say who asks: an API key, a token at the tenant's host, or nothing.
type front struct {
	http.Handler
	issuer *jwttest.Issuer
	seen   outcomes
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{issuer: jwttest.New(jwttenant.Issuer{})}
	tokens, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{f.issuer.Config()}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := tenant.NewAPIKeys(tenant.APIKeysConfig{
		Keys: map[[32]byte]tenant.Tenant{tenant.HashAPIKey(goodKey): {ID: "initech", Tier: "pro"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Handler = newGate(t, middleware.Config{
		Resolver: tenant.First(keys, tenant.Subdomain("example.com", tokens), tenant.Anonymous("daily")),
		Quota:    newLimiter(t, quota.Config{}),
		Observe:  f.seen.observe,
	}).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, _ := tenant.FromContext(r.Context())
		fmt.Fprint(w, who)
	}))
	return f
}

// token returns a token of tenant acme's; changed says how it differs from a good one.
func (f *front) token(changed ...jwttest.Claims) string {
	token := f.issuer.Token(tenant.Tenant{ID: "acme", Tier: "pro", Subject: "ann"}, changed...)
	sentinel.Hide(token[strings.LastIndexByte(token, '.')+1:])
	return token
}

// get asks as host, with headers "Name: value".
func (f *front) get(host string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = host
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header[name] = append(r.Header[name], value)
	}
	return do(f, r)
}

func TestGate_FindsWhoAsksByAnyCredential(t *testing.T) {
	f := newFront(t)
	good := "Authorization: Bearer " + f.token()
	for _, c := range []struct {
		name, host string
		headers    []string
		status     int
		body       string
	}{
		{"token at its host", "acme.example.com", []string{good}, 200, "acme (pro)"},
		{"token at its host, spelt otherwise", "ACME.Example.com.:8443", []string{good}, 200, "acme (pro)"},
		{"scheme in any case", "acme.example.com", []string{strings.Replace(good, "Bearer", "bEaReR", 1)}, 200, "acme (pro)"},
		{"API key", "example.com", []string{"X-Api-Key: " + goodKey}, 200, "initech (pro)"},
		{"nothing", "example.com", nil, 200, "_anonymous (daily)"},
		{"nothing, at a tenant's host", "acme.example.com", nil, 200, "_anonymous (daily)"},
		{"headers that name a tenant", "example.com",
			[]string{"X-Tenant-Id: evil", "X_Tenant_Id: evil", "Tenant: evil"}, 200, "_anonymous (daily)"},

		{"token at another tenant's host", "globex.example.com", []string{good}, 403, ""},
		{"token at no tenant's host", "example.com", []string{good}, 403, ""},
		{"token at an address", "192.0.2.1:8443", []string{good}, 403, ""},
		{"unknown API key", "example.com", []string{"X-Api-Key: " + unknownKey}, 401, ""},
		{"two API keys", "example.com", []string{"X-Api-Key: " + goodKey, "X-Api-Key: " + goodKey}, 400, ""},
		{"bad API key beside a good token", "acme.example.com", []string{"X-Api-Key: " + unknownKey, good}, 401, ""},
		{"two Authorization headers", "acme.example.com", []string{good, good}, 400, ""},
		{"two tokens", "acme.example.com", []string{good + ", Bearer " + f.token()}, 400, ""},
	} {
		w := f.get(c.host, c.headers...)
		if w.Code != c.status || c.status == 200 && w.Body.String() != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.name, w.Code, w.Body, c.status, c.body)
		}
	}
}

// TestGate_BadTokensAllGetOneAnswer: nobody learns from it what is wrong with a token, nor gets in as nobody in particular.
func TestGate_BadTokensAllGetOneAnswer(t *testing.T) {
	f := newFront(t)
	long := strings.Repeat("a", 9000)
	first := f.get("acme.example.com", "Authorization: Bearer abc")
	for name, token := range map[string]string{
		"forged":                         f.token() + "AAAA",
		"expired":                        f.token(jwttest.Expired()),
		"expired, with a bad signature":  f.token(jwttest.Expired()) + "AAAA",
		"not valid yet":                  f.token(jwttest.Claims{"nbf": time.Now().Add(time.Hour)}),
		"of another issuer":              f.token(jwttest.Claims{"iss": "https://evil.example/"}),
		"for another service":            f.token(jwttest.Claims{"aud": "billing"}),
		"too long":                       long,
		"of another tenant, forged":      f.token(jwttest.Claims{"tenant_id": "globex"}) + "AAAA",
		"of no tenant, forged":           f.token(jwttest.Claims{"tenant_id": jwttest.Absent}) + "AAAA",
		"signed by nobody":               "eyJhbGciOiJub25lIn0.eyJ0ZW5hbnRfaWQiOiJhY21lIn0.",
		"a line break inside, forged":    f.token()[:40] + "\r\n" + f.token()[40:],
		"of a tenant that is none's, on": "e30.e30.e30",
	} {
		w := f.get("acme.example.com", "Authorization: Bearer "+token)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s: status %d, want 401", name, w.Code)
		}
		if diff := cmp.Diff(first.Body.String(), w.Body.String()); diff != "" {
			t.Errorf("%s: another body (-first +this):\n%s", name, diff)
		}
		if diff := cmp.Diff(first.Header(), w.Header()); diff != "" {
			t.Errorf("%s: other headers (-first +this):\n%s", name, diff)
		}
	}
}

func TestGate_ChallengesByTheSchemesOfItsResolvers(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{})
	tokens, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer.Config()}})
	if err != nil {
		t.Fatal(err)
	}
	keys := func(cfg tenant.APIKeysConfig) tenant.Resolver {
		k, err := tenant.NewAPIKeys(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	for _, c := range []struct {
		name      string
		resolver  tenant.Resolver
		none, bad string // the challenge where there is no credential, and where there is a bad one
	}{
		{"tokens", tokens, `Bearer`, `Bearer error="invalid_token"`},
		{"somebody's own", resolverFunc(tokens.Resolve), `Bearer`, `Bearer error="invalid_token"`},
		{"keys in a header of their own", keys(tenant.APIKeysConfig{Header: "Authorization-Key"}), `ApiKey`, `ApiKey`},
		{"keys of a scheme", keys(tenant.APIKeysConfig{Scheme: "Key"}), `Key`, `Key`},
		{"keys and tokens", tenant.First(keys(tenant.APIKeysConfig{Scheme: "Key"}), tenant.Subdomain("example.com", tokens)),
			`Key, Bearer`, `Key, Bearer error="invalid_token"`},
		{"both of one scheme", tenant.First(keys(tenant.APIKeysConfig{Scheme: "Bearer", Prefix: "k_"}), tokens),
			`Bearer`, `Bearer error="invalid_token"`},
	} {
		h := newGate(t, middleware.Config{Resolver: c.resolver}).Handler(ok)
		if got := get(h, "", "/").Header().Get("WWW-Authenticate"); got != c.none {
			t.Errorf("%s: the challenge without a credential is %q, want %q", c.name, got, c.none)
		}
		bad := request("", "/")
		bad.Header.Set("Authorization", "Bearer abc")
		bad.Header.Set("Authorization-Key", "abc")
		if strings.HasPrefix(c.bad, "Key") && !strings.Contains(c.bad, "Bearer") {
			bad.Header.Set("Authorization", "Key abc")
		}
		if got := do(h, bad).Header().Get("WWW-Authenticate"); got != c.bad {
			t.Errorf("%s: the challenge for a bad credential is %q, want %q", c.name, got, c.bad)
		}
	}
}

// TestGate_ShowsNothingOfACredential looks at all that leaves the gate: to the client, and to the operator.
func TestGate_ShowsNothingOfACredential(t *testing.T) {
	f := newFront(t)
	credentials := map[string]string{
		"forged":     f.token() + "AAAA",
		"no tenant":  f.token(jwttest.Claims{"tenant_id": "needle-../x\u202e"}),
		"other host": f.token(jwttest.Claims{"tenant_id": "needle-tenant"}),
		"needless":   "needle-needle-needle",
		"two":        "needle-needle " + f.token(),
	}
	for name, credential := range credentials {
		w := f.get("acme.example.com", "Authorization: Bearer "+credential)
		if w.Code < 400 || w.Code > 403 {
			t.Errorf("%s: status %d, want one of 400 to 403", name, w.Code)
		}
		checkHidden(t, name, credential, fmt.Sprint(w.Body, w.Header()))
	}
	checkHidden(t, "API key", unknownKey, fmt.Sprint(f.get("example.com", "X-Api-Key: "+unknownKey).Body))
	for _, out := range f.seen.list() {
		text := fmt.Sprintf("%v %+v %#v %q", out, out, out.Err, out.Err)
		for name, credential := range credentials {
			checkHidden(t, "the outcome of "+name, credential, text)
		}
		checkHidden(t, "the outcome of an API key", unknownKey, text)
	}
}

func checkHidden(t *testing.T, name, credential, text string) {
	t.Helper()
	parts := strings.FieldsFunc(credential, func(c rune) bool { return c == '.' || c == ' ' })
	for _, part := range append(parts, "needle", sentinel.Text) {
		if len(part) > 5 && strings.Contains(text, part) {
			t.Errorf("%s: something of the credential is shown", name)
		}
	}
}
