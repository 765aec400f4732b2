package tenant

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Transport is an [http.RoundTripper] that tells chosen hosts, in a header, which tenant a request is made for: the one
// in the request's context. A host that was not chosen is never told, and nobody is told a tenant other than that one:
// whatever the request has under the header's name is replaced, or removed where there is nothing to tell. That holds
// for each request the Transport sees, so for every hop of a redirect, and for a proxy that passes on the headers of
// its own clients. The caller's request is not changed.
//
// The header is a statement of this service. A receiver must take it from nobody else.
//
// The zero Transport tells nobody and removes the default header. A Transport may be used concurrently; its fields must
// not change, nor may it be copied, once it is in use.
type Transport struct {
	// Base sends the requests. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Header is the name of the header. Empty: X-Tenant-Id. Names that differ from it in case only, or by '_' for
	// '-', are removed too, because many receivers do not tell them apart.
	Header string
	// Hosts are the hosts that are told. Empty: nobody.
	//
	// Each is "host" or "host:port", meaning https, or with its scheme: "http://host:port" tells a host without
	// encryption, where everybody on the way can read and change the tenant. Without a port it is the scheme's own
	// (443 or 80), not any port. Host names are compared whole, in any case, and with or without the final dot:
	// "example.com" is not "api.example.com", and there are no wildcards. A name beyond ASCII is written in its ASCII
	// form (xn--...), an IPv6 address in brackets. What counts is the host of the URL that is fetched, not the
	// request's Host field.
	//
	// An entry that is not of this form fails every request, so that it cannot go unnoticed.
	Hosts []string

	once    sync.Once
	header  string // Header in canonical form
	origins []origin
	err     error // what is wrong with Hosts
}

// RoundTrip sends req through Base. Its own errors are a faulty entry of Hosts, and [ErrInvalidID] where a context
// carries an ID that is none towards a host that would be told.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.once.Do(t.prepare)
	id, err := t.tell(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close() // a RoundTripper always closes it
		}
		return nil, err
	}
	out := req.WithContext(req.Context()) // not Clone: the caller fills in req.Trailer while its body is read
	out.Header = req.Header.Clone()
	maps.DeleteFunc(out.Header, func(name string, _ []string) bool { return t.names(name) })
	if id != "" {
		if out.Header == nil {
			out.Header = http.Header{}
		}
		out.Header[t.header] = []string{id}
	}
	return t.base().RoundTrip(out)
}

// CloseIdleConnections closes those of Base, where it has any, for [http.Client.CloseIdleConnections].
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func (t *Transport) prepare() {
	t.header = http.CanonicalHeaderKey(cmp.Or(t.Header, "X-Tenant-Id"))
	var errs []error
	for i, host := range t.Hosts {
		o, err := parseOrigin(host)
		if err != nil {
			errs = append(errs, fmt.Errorf("tenant: Transport.Hosts[%d] %.140q: %w", i, host, err))
		}
		t.origins = append(t.origins, o)
	}
	t.err = errors.Join(errs...)
}

// tell returns the tenant ID that req has to carry, empty for none.
func (t *Transport) tell(req *http.Request) (id string, err error) {
	if t.err != nil {
		return "", t.err
	}
	who, ok := FromContext(req.Context())
	if !ok || req.URL == nil || !slices.Contains(t.origins, originOf(req.URL)) {
		return "", nil
	}
	return who.ID, CheckID(who.ID)
}

// names reports whether a receiver may read the header called name as the tenant's.
func (t *Transport) names(name string) bool {
	return len(name) == len(t.header) &&
		strings.EqualFold(strings.ReplaceAll(name, "_", "-"), strings.ReplaceAll(t.header, "_", "-"))
}

// origin is where a URL leads: equal for all spellings of one place.
type origin struct{ scheme, host, port string }

func originOf(u *url.URL) origin {
	o := origin{scheme: u.Scheme, host: lowerASCII(strings.TrimSuffix(u.Hostname(), ".")), port: u.Port()}
	if o.port == "" {
		switch o.scheme {
		case "https":
			o.port = "443"
		case "http":
			o.port = "80"
		}
	}
	return o
}

// parseOrigin reads an entry of Hosts.
func parseOrigin(s string) (origin, error) {
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return origin{}, errors.New("not a host") // the error of url.Parse names a URL that nobody wrote
	}
	o := originOf(u)
	switch {
	case o.scheme != "https" && o.scheme != "http":
		return origin{}, errors.New("the scheme must be https or http")
	case u.User != nil || u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return origin{}, errors.New("want a host and at most a scheme and a port")
	case !validHost(o.host):
		return origin{}, errors.New("not a host name in ASCII, nor an IP address")
	}
	return o, nil
}

func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") == ""
}

// lowerASCII leaves other letters alone: in Unicode the lower case of 'İ' is 'i', but net/http looks up another host.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}
