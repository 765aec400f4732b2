package jwttenant_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func TestResolve_AuthorizationHeader(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	good := token(nil)
	for _, c := range []struct {
		name    string
		headers []string
		want    error
	}{
		{"bearer token", []string{"Bearer " + good}, nil},
		{"scheme in any case", []string{"bEaReR " + good}, nil},
		{"more spaces after the scheme", []string{"Bearer   " + good}, nil},
		{"space around the header", []string{" Bearer " + good + " \t"}, nil},

		{"no header", nil, tenant.ErrNoCredential},
		{"empty header", []string{""}, tenant.ErrNoCredential},
		{"another scheme", []string{"Basic dXNlcjpwYXNz"}, tenant.ErrNoCredential},
		{"another scheme with a good token", []string{"DPoP " + good}, tenant.ErrNoCredential},
		{"a scheme that begins like Bearer", []string{"Bearers " + good}, tenant.ErrNoCredential},
		{"a token without a scheme", []string{good}, tenant.ErrNoCredential},

		{"two headers", []string{"Bearer " + good, "Bearer " + good}, tenant.ErrMalformed},
		{"two headers, another scheme first", []string{"Basic dXNlcjpwYXNz", "Bearer " + good}, tenant.ErrMalformed},
		{"two credentials in one header", []string{"Bearer a, Bearer b"}, tenant.ErrMalformed},
		{"two good credentials in one header", []string{"Bearer " + good + ", Bearer " + good}, tenant.ErrMalformed},
		{"two tokens", []string{"Bearer a b"}, tenant.ErrMalformed},
		{"two tokens and a comma", []string{"Bearer a,b"}, tenant.ErrMalformed},
		{"two tokens and a tab", []string{"Bearer a\tb"}, tenant.ErrMalformed},
		{"no token", []string{"Bearer"}, tenant.ErrMalformed},
		{"no token but space", []string{"Bearer   "}, tenant.ErrMalformed},
		{"a colon for the space", []string{"Bearer:" + good}, tenant.ErrMalformed},
		{"a tab for the space", []string{"Bearer\t" + good}, tenant.ErrMalformed},

		{"no token of ours", []string{"Bearer abc"}, tenant.ErrInvalid},
		{"characters that no token has", []string{"Bearer " + good + "\u00e9"}, tenant.ErrInvalid},
		{"a line break", []string{"Bearer " + good[:20] + "\n" + good[20:]}, tenant.ErrInvalid},
		{"padding", []string{"Bearer " + good + "="}, tenant.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, "/orders", nil)
			req.Header["Authorization"] = c.headers
			checkAnswer(t, r, req, c.want)
		})
	}
}

func TestResolve_TrustsNoHeaderThatNamesATenant(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	named := func(req *http.Request) *http.Request {
		for _, name := range []string{"X-Tenant-Id", "X_Tenant_Id", "X-Tenant", "Tenant-Id", "Forwarded"} {
			req.Header[name] = []string{"evil"}
		}
		return req
	}
	if got := checkAnswer(t, r, named(request(token(nil))), nil); got.ID != "acme" {
		t.Errorf("tenant is %v, want that of the token", got)
	}
	checkAnswer(t, r, named(httptest.NewRequest(http.MethodGet, "/orders", nil)), tenant.ErrNoCredential)
}

func TestResolve_HugeTokenCostsNothing(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	many := claims{}
	for i := range 20_000 {
		many["claim"+strconv.Itoa(i)] = 1
	}
	for name, huge := range map[string]string{
		"a mebibyte of dots":                strings.Repeat(".", 1<<20),
		"a good token of 20,000 claims":     token(many),
		"one byte more than is allowed":     strings.Repeat("a", 8193),
		"as many dots as are allowed":       strings.Repeat(".", 8192),
		"as much base64url as is allowed":   strings.Repeat("a", 8192),
		"a mebibyte of commas":              strings.Repeat(",", 1<<20),
		"a mebibyte of another alphabet":    strings.Repeat("é", 1<<19),
		"a mebibyte of one segment, signed": strings.Repeat("a", 1<<20) + ".e30.AAAA",
	} {
		t.Run(name, func(t *testing.T) {
			req := request(huge)
			checkAnswer(t, r, req, tenant.ErrInvalid)
			if allocs := testing.AllocsPerRun(20, func() { r.Resolve(req) }); allocs != 0 {
				t.Errorf("refusing it allocates %v times, want 0", allocs)
			}
		})
	}
}

func TestResolve_TokenOfTheGreatestLengthIsAccepted(t *testing.T) {
	good := token(nil)
	for name, c := range map[string]struct {
		most int
		want error
	}{
		"as long as allowed":    {len(good), nil},
		"one byte more than is": {len(good) - 1, tenant.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := oneIssuer(hmacIssuer())
			cfg.MaxTokenBytes = c.most
			checkAnswer(t, must(jwttenant.New(cfg)), request(good), c.want)
		})
	}
}
