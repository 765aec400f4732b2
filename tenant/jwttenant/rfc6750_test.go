package jwttenant_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// TestRFC6750 has the rules on how a bearer token is sent, by section. The statuses and challenges that answer each
// error are the gate's.
func TestRFC6750(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	good := token(nil)
	post := func(body string) *http.Request {
		req := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return req
	}
	with := func(req *http.Request, authorization ...string) *http.Request {
		req.Header["Authorization"] = authorization
		return req
	}
	get := func(target string) *http.Request { return httptest.NewRequest(http.MethodGet, target, nil) }
	for _, c := range []struct {
		name string
		req  *http.Request
		want error
	}{
		{"2 one method", with(get("/orders"), "Bearer "+good), nil},
		{"2 header and query", with(get("/orders?access_token="+good), "Bearer "+good), tenant.ErrMalformed},
		{"2 header and query among more", with(get("/orders?a=1&access_token=y"), "Bearer "+good), tenant.ErrMalformed},
		{"2 a query that merely sounds like it", with(get("/orders?no_access_token=1&q=access_token"), "Bearer "+good), nil},
		{"2.1 scheme in any case", with(get("/orders"), "BEARER "+good), nil},
		{"2.1 header twice", with(get("/orders"), "Bearer "+good, "Bearer "+good), tenant.ErrMalformed},
		{"2.1 no token after the scheme", with(get("/orders"), "Bearer"), tenant.ErrMalformed},
		{"2.2 a form is not read", post("access_token=" + good), tenant.ErrNoCredential},
		{"2.3 a query is not read", get("/orders?access_token=" + good), tenant.ErrNoCredential},
		{"3 no credential", get("/orders"), tenant.ErrNoCredential},
		{"3 another scheme", with(get("/orders"), `Digest username="a"`), tenant.ErrNoCredential},
		{"3.1 invalid_request", with(get("/orders"), "Bearer a b"), tenant.ErrMalformed},
		{"3.1 invalid_token, malformed", with(get("/orders"), "Bearer abc"), tenant.ErrInvalid},
		{"3.1 invalid_token, expired", with(get("/orders"), "Bearer "+token(claims{"exp": 1})), tenant.ErrInvalid},
		{"3.1 insufficient_scope", with(get("/orders"), "Bearer "+token(claims{"tenant_id": nil})), tenant.ErrForbidden},
	} {
		t.Run(c.name, func(t *testing.T) { checkAnswer(t, r, c.req, c.want) })
	}
}
