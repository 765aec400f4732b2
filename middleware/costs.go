package middleware

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/tenantgate/tenantgate/quota"
)

// CheckCosts returns an error that names every key of costs which is the operation of no route of router, a chi router
// or a *http.ServeMux: a cost under a misspelt name would silently be the default. Call it once the routes are
// registered. [quota.DefaultOperation] and [Unmatched] are always fine. A HEAD key is never: HEAD counts as GET.
// Config.Weights have the same keys, and may be given to it too.
//
// A chi router's routes are listed. Those of a ServeMux cannot be: there, a request is made up for each key and
// matched.
func CheckCosts(router http.Handler, costs quota.Costs) error {
	var operation func(*http.Request) string
	listed := map[string]bool{quota.DefaultOperation: true, Unmatched: true}
	switch router := router.(type) {
	case *http.ServeMux:
		operation = MuxPattern(router)
	case chi.Routes:
		operation = ChiPattern(router)
		listOperations(listed, router, nil)
	default:
		return fmt.Errorf("middleware: CheckCosts of a %T, want a chi router or a *http.ServeMux", router)
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(costs)) {
		if !listed[key] && !isOperation(operation, key) {
			errs = append(errs, fmt.Errorf("middleware: operation %q: no such route", key))
		}
	}
	return errors.Join(errs...)
}

// listOperations adds the operations of router, which is mounted behind the patterns of its parents.
func listOperations(operations map[string]bool, router chi.Routes, parents []string) {
	for _, route := range router.Routes() {
		patterns := append(slices.Clip(parents), route.Pattern)
		for method := range route.Handlers {
			if method != "*" { // the methods are listed one by one too
				operations[operationName(method, chiPattern(patterns))] = true
			}
		}
		if route.SubRoutes != nil {
			listOperations(operations, route.SubRoutes, patterns)
		}
	}
}

// probe stands for a wildcard. No route has such a literal, so only the wildcard itself matches it.
const probe = "tenantgate.probe"

// isOperation reports whether some request that is made up after key is the operation key.
func isOperation(operation func(*http.Request) string, key string) bool {
	method, pattern, ok := strings.Cut(key, " ")
	slash := strings.IndexByte(pattern, '/')
	if !ok || slash < 0 {
		return false
	}
	host, pattern := pattern[:slash], pattern[slash:]
	// What ends in a wildcard for the rest of the path may have narrower routes below it: try several depths.
	literal, open := fillPattern(pattern)
	for depth := range 16 {
		if operation(probeRequest(method, host, literal+strings.Repeat(probe+"/", depth))) == key ||
			operation(probeRequest(method, host, literal+strings.Repeat("/"+probe, depth)[min(depth, 1):])) == key {
			return true
		}
		if !open {
			break
		}
	}
	return false
}

// fillPattern replaces the wildcards of a pattern of chi or ServeMux by probes. open: it goes on behind path, which ends
// in a slash, with a wildcard for the rest.
func fillPattern(pattern string) (path string, open bool) {
	var b strings.Builder
	for pattern != "" {
		start := strings.IndexAny(pattern, "{*")
		if start < 0 {
			b.WriteString(pattern)
			break
		}
		b.WriteString(pattern[:start])
		end := strings.IndexByte(pattern[start:], '}')
		switch {
		case pattern[start] == '*', strings.HasSuffix(pattern[start:start+max(end, 0)], "..."):
			return b.String(), true
		case end < 0:
			b.WriteString(pattern[start:])
			return b.String(), false
		case pattern[start:start+end+1] != "{$}":
			b.WriteString(probe)
		default:
			return b.String(), false
		}
		pattern = pattern[start+end+1:]
	}
	return b.String(), strings.HasSuffix(b.String(), "/")
}

func probeRequest(method, host, path string) *http.Request {
	u := &url.URL{Path: path, RawPath: path}
	if unescaped, err := url.PathUnescape(path); err == nil {
		u.Path = unescaped
	}
	return &http.Request{Method: method, Host: host, URL: u, Header: http.Header{}}
}
