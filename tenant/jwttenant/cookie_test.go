package jwttenant_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func TestResolve_Cookie(t *testing.T) {
	const name = "__Host-session"
	r := newResolverOf(t, func(c *jwttenant.Config) { c.Cookie = name })
	good, other := token(nil), token(claims{"tenant_id": "globex"})
	for _, c := range []struct {
		test          string
		cookie        []string
		authorization string
		query         string
		want          error
		tenant        string
	}{
		{test: "a good one", cookie: []string{name + "=" + good}, tenant: "acme"},
		{test: "beside others", cookie: []string{"a=b; " + name + "=" + good + "; c=d"}, tenant: "acme"},
		{test: "in a second header", cookie: []string{"a=b", name + "=" + good}, tenant: "acme"},
		{test: "none", cookie: []string{"a=b"}, want: tenant.ErrNoCredential},
		{test: "empty", cookie: []string{name + "="}, want: tenant.ErrNoCredential},
		{test: "a name in another case", cookie: []string{"__host-session=" + good}, want: tenant.ErrNoCredential},
		{test: "a bad one", cookie: []string{name + "=" + good + "AAAA"}, want: tenant.ErrInvalid},
		{test: "no token", cookie: []string{name + "=abc"}, want: tenant.ErrInvalid},
		{test: "a bad one that package http does not see",
			cookie: []string{name + "=" + good + `"x`}, want: tenant.ErrInvalid},
		{test: "in quotes", cookie: []string{name + `="` + good + `"`}, want: tenant.ErrInvalid},
		{test: "beyond ASCII", cookie: []string{name + "=\xff"}, want: tenant.ErrInvalid},
		{test: "spaces around it", cookie: []string{"a=b;  " + name + "=" + good + " ; c=d"}, tenant: "acme"},
		{test: "a name that ends so", cookie: []string{"x" + name + "=" + good}, want: tenant.ErrNoCredential},
		{test: "a name and nothing", cookie: []string{name}, want: tenant.ErrNoCredential},
		{test: "two, one of them bad", cookie: []string{name + "=" + good + "; " + name + `=a"b`}, want: tenant.ErrMalformed},
		{test: "two, one of them empty", cookie: []string{name + "=; " + name + "=" + good}, want: tenant.ErrMalformed},
		{test: "after many others", cookie: []string{strings.Repeat("a=b;", 4000) + name + "=abc"}, want: tenant.ErrInvalid},
		{test: "two", cookie: []string{name + "=" + good + "; " + name + "=" + other}, want: tenant.ErrMalformed},
		{test: "two alike", cookie: []string{name + "=" + good, name + "=" + good}, want: tenant.ErrMalformed},
		{test: "a header says more", cookie: []string{name + "=" + other}, authorization: "Bearer " + good, tenant: "acme"},
		{test: "a bad header is not passed over",
			cookie: []string{name + "=" + good}, authorization: "Bearer " + good + "AAAA", want: tenant.ErrInvalid},
		{test: "a malformed header is not passed over",
			cookie: []string{name + "=" + good}, authorization: "Bearer", want: tenant.ErrMalformed},
		{test: "another scheme", cookie: []string{name + "=" + good}, authorization: "Basic YTpi", tenant: "acme"},
		{test: "in the query", query: "access_token=" + good, want: tenant.ErrNoCredential},
	} {
		t.Run(c.test, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, "/?"+c.query, nil)
			req.Header["Cookie"] = c.cookie
			if c.authorization != "" {
				req.Header.Set("Authorization", c.authorization)
			}
			if got := checkAnswer(t, r, req, c.want); got.ID != c.tenant {
				t.Errorf("tenant %q, want %q", got.ID, c.tenant)
			}
		})
	}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Cookie", name+"="+good)
	checkAnswer(t, newResolver(t, hmacIssuer()), req, tenant.ErrNoCredential)
}

// FuzzCookie has the good token in what a stranger sends: whatever package http sees of it is seen, and it passes only as
// the one cookie of its name.
func FuzzCookie(f *testing.F) {
	good := mint("HS256", secret, `{"alg":"HS256"}`, lasting().json())
	for _, seed := range [][2]string{
		{"session=", ""}, {"a=b; session=", "; c=d"}, {"session=x; session=", ""}, {`session="`, `"`}, {"xsession=", ""},
		{" session =", ""}, {"session=;session=", ";"}, {"session\t=", ""}, {"Session=", ""}, {"session=", `\`},
		{";;=;session=", ";;"},
	} {
		f.Add(seed[0], seed[1])
	}
	r := newResolverOf(f, func(c *jwttenant.Config) { c.Cookie = "session" })
	f.Fuzz(func(t *testing.T, before, after string) {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header["Cookie"] = []string{before + good + after}
		_, err := r.Resolve(req)
		seen := req.CookiesNamed("session")
		if len(seen) > 1 && !errors.Is(err, tenant.ErrMalformed) {
			t.Errorf("%d cookies of the name give %v, want ErrMalformed", len(seen), err)
		}
		if len(seen) == 1 && seen[0].Value != "" && errors.Is(err, tenant.ErrNoCredential) {
			t.Error("a cookie that is there is passed over")
		}
		pairs := 0
		for pair := range strings.SplitSeq(req.Header.Get("Cookie"), ";") {
			name, value, _ := strings.Cut(pair, "=")
			if strings.TrimSpace(name) == "session" && strings.TrimSpace(value) == good {
				pairs++
			}
		}
		if err == nil && pairs != 1 {
			t.Errorf("accepted, and %d cookies are the token", pairs)
		}
	})
}
