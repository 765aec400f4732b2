package jwttenant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// fetcher reads documents of issuers.
type fetcher struct {
	client   *http.Client
	own      *http.Transport // to be closed; nil: the transport is somebody else's
	maxBytes int64
}

const (
	maxRedirects = 3
	// maxHeaderBytes bounds the headers of an answer.
	maxHeaderBytes = 64 << 10
)

func newFetcher(cfg JWKSConfig) *fetcher {
	f := &fetcher{maxBytes: cfg.MaxBytes}
	transport := cfg.Transport
	if transport == nil {
		f.own = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			f.own = t.Clone()
		}
		f.own.MaxResponseHeaderBytes = maxHeaderBytes
		transport = f.own
	}
	f.client = &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	return f
}

func (f *fetcher) close() {
	if f.own != nil {
		f.own.CloseIdleConnections()
	}
}

// get returns the document at u, and how long its sender says that it stays as it is; less than 0: that is not said.
// The error says where something went wrong, but not what u has after its path.
func (f *fetcher) get(ctx context.Context, u *url.URL) (document []byte, fresh time.Duration, err error) {
	req := (&http.Request{
		Method: http.MethodGet,
		URL:    u,
		Header: http.Header{"Accept": {"application/json, application/jwk-set+json"}},
	}).WithContext(ctx)
	document, header, err := f.read(req)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, 0, fmt.Errorf("%s: %w", where(u), err)
	}
	return document, freshness(header), nil
}

func (f *fetcher) read(req *http.Request) ([]byte, http.Header, error) {
	resp, err := f.client.Do(req)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // the outer one shows the whole URL
		}
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	// The transport has decompressed the body: it is what is read that counts, not what was sent.
	document, err := io.ReadAll(io.LimitReader(resp.Body, f.maxBytes+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(document)) > f.maxBytes:
		return nil, nil, fmt.Errorf("the document has more than %d bytes", f.maxBytes)
	}
	return document, resp.Header, nil
}

// checkRedirect lets an issuer move a document, but send us nowhere else.
func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case origin(req.URL) != origin(via[0].URL) || req.URL.User != nil:
		return errors.New("a redirect to another scheme, host or port")
	}
	return nil
}

// origin returns scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// where returns u without what may be nobody's business.
func where(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// parseURL reads the address of a document: https, or http where the wire cannot be tapped.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, errors.New("the URL is none with a host")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, errors.New("the URL is not https (http is for the loopback only)")
	case u.User != nil:
		return nil, errors.New("the URL has user info")
	case strings.Contains(s, "#"):
		return nil, errors.New("the URL has a fragment")
	}
	return u, nil
}

func loopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// freshness returns how long an answer with that header may be kept (RFC 9111, 4.2 and 5.2.2, for a private cache), less
// than 0 where it does not say.
func freshness(header http.Header) time.Duration {
	fresh := time.Duration(-1)
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-cache", "no-store":
			return 0
		case "max-age":
			if age, ok := seconds(strings.Trim(value, `"`)); ok && (fresh < 0 || age < fresh) {
				fresh = age
			}
		}
	}
	if age, ok := seconds(header.Get("Age")); ok && fresh > 0 {
		fresh = max(0, fresh-age)
	}
	return fresh
}

// seconds reads a delta-seconds (RFC 9111, 1.2.2), of which more than a year counts as one.
func seconds(s string) (time.Duration, bool) {
	const most = 365 * 24 * 3600
	n, err := strconv.ParseUint(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		n, err = most, nil
	}
	return time.Duration(min(n, most)) * time.Second, err == nil
}
