package tenant_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

func TestTransport_MatchesHosts(t *testing.T) {
	tests := []struct {
		entry, url string
		told       bool
	}{
		{"api.example.com", "https://api.example.com/", true},
		{"api.example.com", "https://api.example.com:443/", true},
		{"api.example.com:443", "https://api.example.com/", true},
		{"https://api.example.com", "https://api.example.com/", true},
		{"HTTPS://API.Example.Com", "https://api.example.com/", true},
		{"api.example.com", "https://API.EXAMPLE.COM/", true},
		{"api.example.com", "https://api.example.com./", true},
		{"api.example.com.", "https://api.example.com/", true},
		{"api.example.com", "https://user:password@api.example.com/", true},
		{"api.example.com:8443", "https://api.example.com:8443/", true},
		{"http://api.example.com", "http://api.example.com/", true},
		{"http://api.example.com", "http://api.example.com:80/", true},
		{"http://api_v2:8080", "http://api_v2:8080/", true},
		{"[2001:db8::1]", "https://[2001:DB8::1]/", true},
		{"http://[::1]:8080", "http://[::1]:8080/", true},
		{"xn--bcher-kva.example", "https://xn--bcher-kva.example/", true},

		{"api.example.com", "http://api.example.com/", false},
		{"api.example.com", "http://api.example.com:443/", false},
		{"http://api.example.com", "https://api.example.com/", false},
		{"http://api.example.com", "https://api.example.com:80/", false},
		{"api.example.com", "https://api.example.com:8443/", false},
		{"api.example.com:8443", "https://api.example.com/", false},
		{"example.com", "https://api.example.com/", false},
		{"example.com", "https://evilexample.com/", false},
		{"api.example.com", "https://example.com/", false},
		{"api.example.com", "https://api.example.com.evil.example/", false},
		{"api.example.com", "https://api.example.com@evil.example/", false},
		{"api.example.com", "https://evil.example/api.example.com", false},
		{"api.example.com", "https://evil.example/#@api.example.com/", false},
		{"api.example.com", "https://evil.example/?//api.example.com", false},
		{"10.0.0.1", "https://10.0.0.11/", false},
		{"[::1]", "https://[::2]/", false},
		{"api.example.com", "https://ap\u0130.example.com/", false}, // its lower case in Unicode is api.example.com
		{"api.example.com", "https://\u0430pi.example.com/", false}, // Cyrillic
	}
	base := everywhere(t)
	for _, tt := range tests {
		t.Run(tt.entry+" and "+tt.url, func(t *testing.T) {
			told := false
			transport := &tenant.Transport{Hosts: []string{"other.example", tt.entry}, Base: roundTripper(
				func(r *http.Request) (*http.Response, error) {
					told = r.Header.Get("X-Tenant-Id") != ""
					return base.RoundTrip(r)
				})}
			r := request(t, tenant.NewContext(t.Context(), acme), tt.url)
			resp, err := transport.RoundTrip(r)
			if err == nil {
				defer resp.Body.Close()
				if named := resp.Header.Get("Named"); (named != "") != told {
					t.Errorf("the server was told %q", named)
				}
			} else if tt.told {
				t.Error(err)
			}
			if told != tt.told {
				t.Errorf("told %t, want %t", told, tt.told)
			}
		})
	}
}

func TestTransport_FaultyHostsFailEveryRequest(t *testing.T) {
	const form = "want a host and at most a scheme and a port"
	const name = "not a host name in ASCII, nor an IP address"
	entries := []struct{ entry, want string }{
		{"", name},
		{".", name},
		{"*.example.com", name},
		{"b\u00fccher.example", name},
		{"a,b", name},
		{":443", name},
		{"2001:db8::1", "not a host"},
		{"a b", "not a host"},
		{"a:port", "not a host"},
		{"https://a.example/", form},
		{"a.example/path", form},
		{"a.example?q", form},
		{"a.example#f", form},
		{"user@a.example", form},
		{"ftp://a.example", "the scheme must be https or http"},
		{"//a.example", form},
		{"://a.example", "not a host"},
	}
	transport := &tenant.Transport{Hosts: []string{"good.example"}, Base: roundTripper(
		func(*http.Request) (*http.Response, error) { return nil, errors.New("a request was sent") })}
	for _, e := range entries {
		transport.Hosts = append(transport.Hosts, e.entry)
	}
	body := &closing{}
	r := request(t, t.Context(), "http://other.example/")
	r.Body = body
	_, err := transport.RoundTrip(r)
	if err == nil || !body.closed {
		t.Fatalf("error %v, body closed %t, want an error and a closed body", err, body.closed)
	}
	faults := strings.Split(err.Error(), "\n")
	if len(faults) != len(entries) {
		t.Fatalf("%d faults, want %d:\n%v", len(faults), len(entries), err)
	}
	for i, e := range entries {
		if got := faults[i]; !strings.HasPrefix(got, "tenant: Transport.Hosts[") || !strings.HasSuffix(got, ": "+e.want) {
			t.Errorf("%q: %s, want %s", e.entry, got, e.want)
		}
	}
}

// Whatever a URL looks like, the tenant goes only where net/http then connects to a chosen address.
func FuzzTransportURL(f *testing.F) {
	for _, seed := range []string{
		"https://api.example.com/", "http://10.0.0.1:8080", "https://API.example.com.:443/x",
		"https://api.example.com..", "https://api.example.com:", "http://10.0.0.1:8080:443",
		"https://api.example.com@evil.example/", "https://ap\u0130.example.com/", "https://api.example.com:0443",
		"//api.example.com", "https://%61pi.example.com", "https://api.example.com%2eevil.example",
	} {
		f.Add(seed)
	}
	chosen := []string{"api.example.com:443", "api.example.com.:443", "10.0.0.1:8080", "10.0.0.1.:8080"}
	f.Fuzz(func(t *testing.T, rawURL string) {
		r, err := http.NewRequestWithContext(tenant.NewContext(t.Context(), acme), "GET", rawURL, nil)
		if err != nil {
			return
		}
		dialled := make(chan string, 1)
		base := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			dialled <- address
			return nil, errors.New("nobody there")
		}}
		told := false
		transport := &tenant.Transport{Hosts: []string{"api.example.com", "http://10.0.0.1:8080"}, Base: roundTripper(
			func(r *http.Request) (*http.Response, error) {
				told = r.Header.Get("X-Tenant-Id") != ""
				return base.RoundTrip(r)
			})}
		if _, err := transport.RoundTrip(r); err == nil {
			t.Fatal("an answer from nobody")
		}
		if !told {
			return
		}
		select {
		case address := <-dialled:
			if !slices.Contains(chosen, strings.ToLower(address)) {
				t.Errorf("%q: the tenant would have gone to %s", rawURL, address)
			}
		default: // net/http refused the request
		}
	})
}

// everywhere returns a transport for which every host is one and the same server, with and without TLS. The answer says
// in its header Named which tenant the request named.
func everywhere(t *testing.T) *http.Transport {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Named", r.Header.Get("X-Tenant-Id"))
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	var d net.Dialer
	base := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, plain.Listener.Addr().String())
		},
		DialTLSContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
			return d.DialContext(ctx, network, secure.Listener.Addr().String())
		},
	}
	t.Cleanup(func() {
		base.CloseIdleConnections()
		plain.Close()
		secure.Close()
	})
	return base
}
