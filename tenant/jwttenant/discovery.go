package jwttenant

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Discovery are the keys of an issuer that says where they are, by OpenID Connect Discovery 1.0: in the document at
// Issuer.Issuer + "/.well-known/openid-configuration". Each fetch reads that document and then, as [JWKS] does, the keys
// at its jwks_uri, which may be on another host but has to be https (http only from the loopback to the loopback). The
// document's issuer has to be Issuer.Issuer exactly, or else the fetch fails.
//
// An issuer that is a template has no one such document: use [JWKS].
func Discovery(cfg JWKSConfig) KeySource {
	return KeySource{open: func(use keyUse, found findings) keySet {
		u, err := discoveryURL(use.issuer)
		if err != nil {
			found.add("%w", err)
		}
		return openKeys(use, cfg, discovery{use.issuer, u}, found)
	}}
}

// discoveryURL returns where the document about an issuer is (OpenID Connect Discovery 1.0, 4).
func discoveryURL(issuer string) (*url.URL, error) {
	if issuer == "" {
		return nil, errors.New("Discovery wants an issuer with one name, not a template")
	}
	if strings.Contains(issuer, "?") {
		return nil, errors.New("Discovery wants an issuer without a query")
	}
	if _, err := parseURL(issuer); err != nil { // with a fragment, what follows would be part of that
		return nil, err
	}
	return parseURL(strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration")
}

// discovery is the source of [Discovery].
type discovery struct {
	issuer string
	url    *url.URL
}

func (d discovery) String() string { return where(d.url) }

func (d discovery) fetch(ctx context.Context, f *fetcher) ([]byte, time.Duration, error) {
	document, _, err := f.get(ctx, d.url)
	if err != nil {
		return nil, 0, err
	}
	keys, err := d.keysURL(document)
	if err != nil {
		return nil, 0, fmt.Errorf("%v: %w", d, err)
	}
	return f.get(ctx, keys)
}

// keysURL returns jwks_uri of the document about the issuer.
func (d discovery) keysURL(document []byte) (*url.URL, error) {
	about, err := parseObject(string(document))
	if err != nil {
		return nil, errors.New("the document is not a JSON object, or one with a name twice")
	}
	if issuer, _ := text(about.at("issuer")); issuer != d.issuer {
		return nil, fmt.Errorf("the document is about another issuer, %.140q", issuer)
	}
	address, _ := text(about.at("jwks_uri"))
	u, err := parseURL(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("jwks_uri: %w", err)
	case u.Scheme != "https" && d.url.Scheme == "https":
		return nil, errors.New("jwks_uri: the URL is not https")
	}
	return u, nil
}
