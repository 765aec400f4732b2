package tenant_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// hostOf reports whether host is a spelling of id's host: it begins with what that must be, where the code begins with
// what came.
func hostOf(id, host string) bool {
	for i, c := range []byte(id) {
		edge := i == 0 || i == len(id)-1
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' && !edge) || i == 63 {
			return false
		}
	}
	want := id + ".example.com"
	if len(host) < len(want) || !strings.EqualFold(host[:len(want)], want) {
		return false
	}
	rest := strings.TrimPrefix(host[len(want):], ".")
	port, ok := strings.CutPrefix(rest, ":")
	return id != "" && (rest == "" || ok && strings.Trim(port, "0123456789") == "")
}

// FuzzSubdomain_Host compares with hostOf, and with how package url reads the host of a URL.
func FuzzSubdomain_Host(f *testing.F) {
	for _, tt := range hosts {
		if len(tt.host) < 1000 {
			f.Add(tt.host, "acme")
		}
	}
	f.Add("a_b.example.com", "a_b")
	f.Add("Acme.example.com", "Acme")
	f.Add("a.b.example.com", "a.b")
	f.Fuzz(func(t *testing.T, host, id string) {
		if id == tenant.AnonymousID {
			return
		}
		_, err := tenant.Subdomain("example.com", as(tenant.Tenant{ID: id})).Resolve(&http.Request{Host: host})
		if want := hostOf(id, host); want != (err == nil) || err != nil && !errors.Is(err, tenant.ErrForbidden) {
			t.Errorf("tenant %q at %q: %v, want ok %t or ErrForbidden", id, host, err, want)
		}
		if err != nil {
			return
		}
		u, err := url.Parse("//" + host)
		if err != nil || u.Host != host || strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") != id+".example.com" {
			t.Errorf("tenant %q passed at %q, which package url reads as %v, %v", id, host, u, err)
		}
	})
}
