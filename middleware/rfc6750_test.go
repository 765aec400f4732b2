package middleware_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

// TestRFC6750_Answers has a row for each rule on what a resource server answers, by section.
func TestRFC6750_Answers(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{Tenants: []string{"acme"}})
	h := tokenGate(t, jwttenant.Config{Issuers: []jwttenant.Issuer{issuer.Config()}, Cookie: "session"})
	who := tenant.Tenant{ID: "acme"}
	good, expired := issuer.Token(who), issuer.Token(who, jwttest.Expired())
	at := strings.LastIndexByte(good, '.') + 1

	const none, malformed, invalid, forbidden = `Bearer`, `Bearer error="invalid_request"`, `Bearer error="invalid_token"`,
		`Bearer error="insufficient_scope"`
	for _, c := range []struct {
		name          string
		authorization []string
		query, form   string
		cookie        string
		status        int
		challenge     string
	}{
		{"2 a good token", []string{"Bearer " + good}, "", "", "", 200, ""},
		{"2 header and query", []string{"Bearer " + good}, "?access_token=" + good, "", "", 400, malformed},
		{"2 header twice", []string{"Bearer " + good, "Bearer " + good}, "", "", "", 400, malformed},
		{"2.1 scheme in another case", []string{"bEARER " + good}, "", "", "", 200, ""},
		{"2.2 form", nil, "", "access_token=" + good, "", 401, none},
		{"2.3 query", nil, "?access_token=" + good, "", "", 401, none},
		{"3 no credential", nil, "", "", "", 401, none},
		{"3 another scheme", []string{"Basic dXNlcjpwYXNz"}, "", "", "", 401, none},
		{"3.1 invalid_request, no token", []string{"Bearer"}, "", "", "", 400, malformed},
		{"3.1 invalid_request, two tokens", []string{"Bearer " + good + " " + good}, "", "", "", 400, malformed},
		{"3.1 invalid_token, expired", []string{"Bearer " + expired}, "", "", "", 401, invalid},
		{"3.1 invalid_token, forged", []string{"Bearer " + good[:at] + strings.Repeat("A", 86)}, "", "", "", 401, invalid},
		{"3.1 invalid_token, no token at all", []string{"Bearer abc"}, "", "", "", 401, invalid},
		{"3.1 invalid_token, too long", []string{"Bearer " + strings.Repeat("a", 9000)}, "", "", "", 401, invalid},
		{"3.1 insufficient_scope, another tenant",
			[]string{"Bearer " + issuer.Token(tenant.Tenant{ID: "globex"})}, "", "", "", 403, forbidden},
		{"3.1 insufficient_scope, no tenant",
			[]string{"Bearer " + issuer.Token(who, jwttest.Claims{"tenant_id": 7})}, "", "", "", 403, forbidden},
		{"5.3 cookie", nil, "", "", good, 200, ""},
		{"5.3 cookie, expired", nil, "", "", expired, 401, invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/orders"+c.query, strings.NewReader(c.form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header["Authorization"] = c.authorization
			if c.cookie != "" {
				r.AddCookie(&http.Cookie{Name: "session", Value: c.cookie})
			}
			w := do(h, r)
			if got := strings.Join(w.Header().Values("WWW-Authenticate"), " | "); w.Code != c.status || got != c.challenge {
				t.Errorf("status %d with challenge %q, want %d with %q", w.Code, got, c.status, c.challenge)
			}
			if strings.Contains(w.Body.String()+fmt.Sprint(w.Header()), good[:20]) {
				t.Errorf("the answer has the token: %v %s", w.Header(), w.Body)
			}
		})
	}
}

// TestRFC6750_3_1_InvalidTokensLookTheSame: what is wrong with a token is nobody's business but the operator's.
func TestRFC6750_3_1_InvalidTokensLookTheSame(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{})
	h := tokenGate(t, jwttenant.Config{Issuers: []jwttenant.Issuer{issuer.Config()}})
	who := tenant.Tenant{ID: "acme"}
	good := issuer.Token(who)
	var first string
	for name, bad := range map[string]string{
		"expired":           issuer.Token(who, jwttest.Expired()),
		"expired, forged":   jwttest.New(jwttenant.Issuer{}).Token(who, jwttest.Expired()),
		"of another key":    jwttest.New(jwttenant.Issuer{}).Token(who),
		"of a stranger":     issuer.Token(who, jwttest.Claims{"iss": "https://evil.example"}),
		"for another":       issuer.Token(who, jwttest.Claims{"aud": "billing"}),
		"claims cut off":    good[:strings.LastIndexByte(good, '.')],
		"no token":          "abc",
		"too long":          strings.Repeat("a", 9000),
		"expired no tenant": issuer.Token(tenant.Tenant{}, jwttest.Expired()),
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+bad)
		w := do(h, r)
		got := fmt.Sprint(w.Code, w.Header(), w.Body)
		if first == "" {
			first = got
		}
		if w.Code != http.StatusUnauthorized || got != first {
			t.Errorf("%s: answered %s, and another one %s", name, got, first)
		}
	}
}

// TestRFC6750_3_KeysThatCannotBeHadAreNoFaultOfTheToken: clients throw a token away on 401.
func TestRFC6750_3_KeysThatCannotBeHadAreNoFaultOfTheToken(t *testing.T) {
	issuer := jwttest.New(jwttenant.Issuer{})
	like := issuer.Config()
	like.Keys = jwttenant.JWKS("https://id.example.com/keys", jwttenant.JWKSConfig{
		Transport: downTransport{}, Logger: slog.New(slog.DiscardHandler),
	})
	h := tokenGate(t, jwttenant.Config{Issuers: []jwttenant.Issuer{like}})
	w := do(h, issuer.Authorize(httptest.NewRequest(http.MethodGet, "/", nil), tenant.Tenant{ID: "acme"}))
	challenge, retryAfter := w.Header().Get("WWW-Authenticate"), w.Header().Get("Retry-After")
	if w.Code != http.StatusServiceUnavailable || challenge != "" || retryAfter == "" {
		t.Errorf("status %d, challenge %q, Retry-After %q; want 503, none and some", w.Code, challenge, retryAfter)
	}
}

// downTransport is the network of an issuer that is down.
type downTransport struct{}

func (downTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// tokenGate is a gate in front of a handler that answers 200.
func tokenGate(t *testing.T, cfg jwttenant.Config) http.Handler {
	t.Helper()
	resolver, err := jwttenant.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(resolver.Close)
	return newGate(t, middleware.Config{Resolver: resolver}).Handler(ok)
}
