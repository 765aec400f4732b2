package tenant

import (
	"fmt"
	"net/http"
	"strings"
)

// errHost is one for all hosts: the refused host is not repeated.
var errHost = fmt.Errorf("%w: the request's host is not the tenant's", ErrForbidden)

// Subdomain returns a resolver that finds the tenant with resolver, and then holds the request's host against it:
// below base, "example.com", tenant acme's requests are for acme.example.com. The host alone names nobody. It is for
// services whose tenants have a host each, where a browser, a cache or a person takes what comes from acme's host for
// acme's: a request for it with another tenant's credential is [ErrForbidden].
//
// The errors of resolver come first, and unchanged, so that a stranger learns nothing from the host. After that the
// host (r.Host) must be the tenant's ID, a dot, and base. A port and one final dot are dropped, and A to Z are a to z
// in the host; nothing else is forgiven. Base itself, an address, a host with more labels or outside of base are
// forbidden, and so is a tenant whose ID is no label in lower case: "Acme", "a_b", "a.b" and IDs longer than 63 bytes
// have no host. [SubdomainFunc] is for those.
//
// The anonymous tenant passes at every host: it has no data that a host could belong to, and what a host shows to
// everybody must be seen by somebody without a credential. A handler that shows a tenant's public page by the host of
// an anonymous request chooses from what it received, not from what was checked.
//
// X-Forwarded-Host, Forwarded and the like are never looked at, because any client can send them. A proxy in front
// must pass the Host on as it came (nginx: proxy_set_header Host $host).
//
// A base that is no host name (empty, an address, with a port, with a leading dot) and a nil resolver panic.
func Subdomain(base string, resolver Resolver) Resolver {
	return newSubdomain("Subdomain", base, resolver, func(t Tenant) string { return t.ID })
}

// SubdomainFunc is [Subdomain] for services whose hosts are not named by tenant IDs: label returns the label of a
// tenant's host, in lower case, for example from a claim. It must come from the credential or from the service's own
// records. "" forbids: the tenant has no host. It is not asked about the anonymous tenant, and is called concurrently.
// A nil label panics.
func SubdomainFunc(base string, resolver Resolver, label func(Tenant) string) Resolver {
	if label == nil {
		panic("tenant: SubdomainFunc: label is nil")
	}
	return newSubdomain("SubdomainFunc", base, resolver, label)
}

func newSubdomain(caller, base string, resolver Resolver, label func(Tenant) string) Resolver {
	if isNil(resolver) {
		panic(fmt.Sprintf("tenant: %s: resolver is nil", caller))
	}
	return &subdomain{resolver: resolver, host: hostLabel(caller, base), label: label}
}

type subdomain struct {
	resolver Resolver
	host     func(*http.Request) (label string, ok bool)
	label    func(Tenant) string
}

func (s *subdomain) Unwrap() []Resolver { return []Resolver{s.resolver} }

func (s *subdomain) Resolve(r *http.Request) (Tenant, error) {
	t, err := s.resolver.Resolve(r)
	if err != nil || t.ID == AnonymousID {
		return t, err
	}
	if label, ok := s.host(r); !ok || label != s.label(t) {
		return Tenant{}, errHost
	}
	return t, nil
}

// HostLabel returns a function that finds the label before base in a request's host, in lower case, as [Subdomain] does;
// ok is false for a host of another form. Whoever sends the request wrote the host: the label is a wish, to be held
// against what the credential allows, and names no tenant. It panics on a base that is no host name.
func HostLabel(base string) func(r *http.Request) (label string, ok bool) {
	return hostLabel("HostLabel", base)
}

func hostLabel(caller, base string) func(*http.Request) (string, bool) {
	name := lowerASCII(strings.TrimSuffix(base, "."))
	if !isDomain(name) {
		panic(fmt.Sprintf("tenant: %s: base %.140q is no host name", caller, base))
	}
	suffix := "." + name
	return func(r *http.Request) (string, bool) { return labelBefore(suffix, r.Host) }
}

// labelBefore returns the one label of host before suffix, in lower case.
func labelBefore(suffix, host string) (label string, ok bool) {
	name, port, _ := strings.Cut(host, ":")
	if strings.Trim(port, digits) != "" { // also what follows the first colon of an IPv6 address
		return "", false
	}
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxDomainLen {
		return "", false
	}
	label, ok = strings.CutSuffix(lowerASCII(name), suffix)
	return label, ok && isLabel(label)
}

const (
	digits       = "0123456789"
	maxDomainLen = 253
	maxLabelLen  = 63
)

// isDomain reports whether s is a host name in lower case, and no address: a name whose last label is a number is read
// as one.
func isDomain(s string) bool {
	var last string
	for label := range strings.SplitSeq(s, ".") {
		if !isLabel(label) {
			return false
		}
		last = label
	}
	return len(s) <= maxDomainLen && strings.Trim(last, digits) != ""
}

// isLabel reports whether s may stand between the dots of a host name (RFC 1123, 2.1), in lower case.
func isLabel(s string) bool {
	return 0 < len(s) && len(s) <= maxLabelLen && s[0] != '-' && s[len(s)-1] != '-' &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-"+digits) == ""
}
