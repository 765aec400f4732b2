package tenant_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// as returns a resolver that finds every request's credential to be t's.
func as(t tenant.Tenant) tenant.Resolver {
	return resolverFunc(func(*http.Request) (tenant.Tenant, error) { return t, nil })
}

// fails returns a resolver whose answer is always err.
func fails(err error) tenant.Resolver {
	return resolverFunc(func(*http.Request) (tenant.Tenant, error) { return tenant.Tenant{}, err })
}

// hosts are the Host headers of requests, and whether tenant acme's may have them where the base is example.com.
var hosts = []struct {
	name string
	host string
	ok   bool
}{
	{"its own", "acme.example.com", true},
	{"port", "acme.example.com:8443", true},
	{"empty port", "acme.example.com:", true},
	{"trailing dot", "acme.example.com.", true},
	{"trailing dot and port", "acme.example.com.:80", true},
	{"upper case", "ACME.Example.COM", true},

	{"another tenant's", "other.example.com", false},
	{"apex", "example.com", false},
	{"apex after a dot", ".example.com", false},
	{"apex with port", "example.com:443", false},
	{"empty", "", false},
	{"port alone", ":80", false},
	{"the label alone", "acme", false},
	{"deeper", "www.acme.example.com", false},
	{"deeper below another", "acme.other.example.com", false},
	{"outside of the base", "acme.example.org", false},
	{"base is not the end", "acme.example.com.evil.net", false},
	{"base without its dot", "acmeexample.com", false},
	{"another base that ends like it", "acme.anexample.com", false},
	{"two trailing dots", "acme.example.com..", false},
	{"two dots inside", "acme..example.com", false},
	{"IPv4", "192.0.2.1", false},
	{"IPv4 with port", "192.0.2.1:80", false},
	{"IPv6", "[2001:db8::1]", false},
	{"IPv6 with port", "[2001:db8::1]:80", false},
	{"IPv6 without brackets", "2001:db8::1", false},
	{"port is a word", "acme.example.com:http", false},
	{"two ports", "acme.example.com:80:80", false},
	{"signed port", "acme.example.com:+80", false},
	{"user", "acme@acme.example.com", false},
	{"base as user", "acme.example.com@evil.net", false},
	{"base as password", "x:acme.example.com@evil.net", false},
	{"slash", "acme.example.com/", false},
	{"path", "evil.net/acme.example.com", false},
	{"backslash", "evil.net\\acme.example.com", false},
	{"query", "acme.example.com?", false},
	{"percent", "acm%65.example.com", false},
	{"space before", " acme.example.com", false},
	{"space after", "acme.example.com ", false},
	{"comma", "acme.example.com,other.example.com", false},
	{"asterisk", "*.example.com", false},
	{"NUL", "acme\x00.example.com", false},
	{"fullwidth letter", "acm\uff45.example.com", false},
	{"ideographic full stop", "acme\u3002example.com", false},
	{"soft hyphen", "ac\u00adme.example.com", false},
	{"not UTF-8", "acme\xff.example.com", false},
	{"longer than a name", strings.Repeat("a.", 200) + "acme.example.com", false},
	{"a MiB", strings.Repeat("a", 1<<20) + ".example.com", false},
}

func TestSubdomain_HostMustBeTheTenants(t *testing.T) {
	resolver := tenant.Subdomain("example.com", as(acme))
	for _, tt := range hosts {
		t.Run(tt.name, func(t *testing.T) {
			if tt.ok {
				check(t, resolver, &http.Request{Host: tt.host}, acme, nil)
			} else {
				check(t, resolver, &http.Request{Host: tt.host}, tenant.Tenant{}, tenant.ErrForbidden)
			}
		})
	}
}

func TestSubdomain_LongHostIsNotCopied(t *testing.T) {
	resolver := tenant.Subdomain("example.com", as(acme))
	r := &http.Request{Host: strings.Repeat("A", 1<<20) + ".example.com"}
	if allocs := testing.AllocsPerRun(10, func() { resolver.Resolve(r) }); allocs > 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

func TestSubdomain_RefusalsLookTheSame(t *testing.T) {
	resolver := tenant.Subdomain("example.com", as(acme))
	texts := map[string]bool{}
	for _, host := range []string{"", "example.com", "other.example.com", "sentinel-7Qz.example.com", "sentinel-7Qz"} {
		_, err := resolver.Resolve(&http.Request{Host: host})
		texts[fmt.Sprint(err)] = true
	}
	if len(texts) != 1 || texts["<nil>"] {
		t.Errorf("%d texts, or no error; want one", len(texts))
	}
}

// TestSubdomain_OfTheWire: what decides is the host that net/http reads from a request, and nothing that says better.
func TestSubdomain_OfTheWire(t *testing.T) {
	resolver := tenant.Subdomain("example.com", as(acme))
	tests := []struct {
		name    string
		request string
		wantErr error
	}{
		{"Host", "GET / HTTP/1.1\nHost: acme.example.com\n\n", nil},
		{"absolute form", "GET http://acme.example.com/ HTTP/1.1\nHost: other.example.com\n\n", nil},
		{"absolute form with a user", "GET http://acme@acme.example.com/ HTTP/1.1\nHost: x\n\n", nil},
		{"absolute form of another",
			"GET http://other.example.com/ HTTP/1.1\nHost: acme.example.com\n\n", tenant.ErrForbidden},
		{"absolute form of another, with a user",
			"GET http://acme.example.com@other.example.com/ HTTP/1.1\nHost: acme.example.com\n\n", tenant.ErrForbidden},
		{"headers of a proxy", "GET / HTTP/1.1\nHost: other.example.com\nX-Forwarded-Host: acme.example.com\n" +
			"X-Original-Host: acme.example.com\nX-Host: acme.example.com\nForwarded: host=acme.example.com\n\n",
			tenant.ErrForbidden},
		{"headers of a proxy that disagree",
			"GET / HTTP/1.1\nHost: acme.example.com\nX-Forwarded-Host: other.example.com\n\n", nil},
		{"no Host", "GET / HTTP/1.0\n\n", tenant.ErrForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(tt.request)))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := resolver.Resolve(r); !errors.Is(err, tt.wantErr) {
				t.Errorf("host %q: %v, %v; want %v", r.Host, got, err, tt.wantErr)
			}
		})
	}
}

func TestSubdomain_IDsThatAreNoLabelHaveNoHost(t *testing.T) {
	resolve := func(id, host string) error {
		_, err := tenant.Subdomain("example.com", as(tenant.Tenant{ID: id})).Resolve(&http.Request{Host: host})
		return err
	}
	long := strings.Repeat("x", 63)
	for _, id := range []string{"acme", "7", "a-b", "xn--bcher-kva", long} {
		if err := resolve(id, id+".example.com"); err != nil {
			t.Errorf("%s at its host: %v", id, err)
		}
	}
	for _, host := range []string{"\u212aiwi", "k\u0130wi"} { // letters whose lower case in Unicode is k and i
		if err := resolve("kiwi", host+".example.com"); !errors.Is(err, tenant.ErrForbidden) {
			t.Errorf("kiwi at %q: %v, want ErrForbidden", host, err)
		}
	}
	for _, id := range []string{"Acme", "a_b", "a.b", "a-", "x" + long, ""} {
		for _, host := range []string{id, strings.ToLower(id), strings.ReplaceAll(id, "_", "-")} {
			if err := resolve(id, host+".example.com"); !errors.Is(err, tenant.ErrForbidden) {
				t.Errorf("%q at %q: %v, want ErrForbidden", id, host, err)
			}
		}
	}
}

func TestSubdomain_CredentialIsJudgedFirst(t *testing.T) {
	cause := fmt.Errorf("%w: expired", tenant.ErrInvalid)
	bug := errors.New("bug")
	for _, want := range []error{cause, tenant.ErrNoCredential, tenant.ErrMalformed, tenant.ErrUnavailable, bug} {
		for _, host := range []string{"acme.example.com", "evil.net"} {
			_, err := tenant.Subdomain("example.com", fails(want)).Resolve(&http.Request{Host: host})
			if err != want {
				t.Errorf("at %s: error %v, want %v unchanged", host, err, want)
			}
		}
	}
}

// TestSubdomain_AnonymousHasNoHost: nobody is let in by it who would not be without it, and a host still names nobody.
func TestSubdomain_AnonymousHasNoHost(t *testing.T) {
	keys := newAPIKeys(t, tenant.APIKeysConfig{})
	nobody := tenant.Tenant{ID: tenant.AnonymousID}
	for name, resolver := range map[string]tenant.Resolver{
		"around First": tenant.Subdomain("example.com", tenant.First(keys, tenant.Anonymous(""))),
		"inside First": tenant.First(tenant.Subdomain("example.com", keys), tenant.Anonymous("")),
		"with a label": tenant.SubdomainFunc("example.com", tenant.First(keys, tenant.Anonymous("")),
			func(who tenant.Tenant) string {
				if who.ID == tenant.AnonymousID {
					t.Error("asked for the label of nobody")
				}
				return who.ID
			}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, host := range []string{"acme.example.com", "example.com", "192.0.2.1"} {
				r := received(t)
				r.Host = host
				check(t, resolver, r, nobody, nil)
			}
			r := received(t, "X-Api-Key: "+otherKey)
			r.Host = "acme.example.com"
			check(t, resolver, r, tenant.Tenant{}, tenant.ErrForbidden)
			r = received(t, "X-Api-Key: "+lostKey)
			r.Host = "acme.example.com"
			check(t, resolver, r, tenant.Tenant{}, tenant.ErrInvalid)
		})
	}
}

func TestSubdomainFunc_LabelComesFromTheCredential(t *testing.T) {
	slug := func(who tenant.Tenant) string {
		var claims map[string]string
		if err := who.DecodeClaims(&claims); err != nil {
			return ""
		}
		return claims["slug"]
	}
	tests := []struct {
		name   string
		claims string
		host   string
		ok     bool
	}{
		{"its label", `{"slug":"acme-inc"}`, "acme-inc.example.com", true},
		{"in upper case in the host", `{"slug":"acme-inc"}`, "ACME-inc.example.com:80", true},
		{"in upper case in the claim", `{"slug":"ACME"}`, "acme.example.com", false},
		{"the ID", `{"slug":"acme-inc"}`, "org_1.example.com", false},
		{"another's", `{"slug":"acme-inc"}`, "other.example.com", false},
		{"no label, and none in the host", `{"slug":""}`, ".example.com", false},
		{"no label", `{"slug":""}`, "example.com", false},
		{"no claims", "", "acme.example.com", false},
		{"two labels", `{"slug":"a.b"}`, "a.b.example.com", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			who := tenant.Tenant{ID: "org_1", Claims: tt.claims}
			got, err := tenant.SubdomainFunc("example.com", as(who), slug).Resolve(&http.Request{Host: tt.host})
			if tt.ok && (err != nil || got != who) || !tt.ok && !errors.Is(err, tenant.ErrForbidden) {
				t.Errorf("at %s: %v, %v; want ok %t", tt.host, got, err, tt.ok)
			}
		})
	}
}

func TestSubdomain_BaseMustBeAHostName(t *testing.T) {
	for base, host := range map[string]string{
		"example.com":          "acme.example.com",
		"Example.COM.":         "acme.example.com",
		"localhost":            "acme.localhost:8080",
		"eu.api-2.example.com": "acme.eu.api-2.example.com",
		"1.example":            "acme.1.example",
		"xn--bcher-kva.de":     "acme.xn--bcher-kva.de",
	} {
		check(t, tenant.Subdomain(base, as(acme)), &http.Request{Host: host}, acme, nil)
	}
	label := func(tenant.Tenant) string { return "acme" }
	for _, base := range []string{
		"", ".", ".example.com", "example.com..", "a..b", "example.com:443", "*.example.com", "https://example.com",
		"example.com/", "192.0.2.1", "127.1", "1", "::1", "[::1]", "ex ample.com", "-a.com", "a-.com", "a_b.com",
		"b\u00fccher.de", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 126) + "ab",
	} {
		for caller, f := range map[string]func(){
			"Subdomain":     func() { tenant.Subdomain(base, as(acme)) },
			"SubdomainFunc": func() { tenant.SubdomainFunc(base, as(acme), label) },
			"HostLabel":     func() { tenant.HostLabel(base) },
		} {
			if text := panicText(f); !strings.HasPrefix(text, "tenant: "+caller+": base ") {
				t.Errorf("%s(%.20q) panics with %q, want one that names the base", caller, base, text)
			}
		}
	}
	for want, f := range map[string]func(){
		"tenant: Subdomain: resolver is nil":     func() { tenant.Subdomain("example.com", nil) },
		"tenant: SubdomainFunc: resolver is nil": func() { tenant.SubdomainFunc("example.com", nil, label) },
		"tenant: SubdomainFunc: label is nil":    func() { tenant.SubdomainFunc("example.com", as(acme), nil) },
	} {
		if text := panicText(f); text != want {
			t.Errorf("panic %q, want %q", text, want)
		}
	}
}
