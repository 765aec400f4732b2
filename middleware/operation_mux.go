package middleware

import (
	"net/http"
	"path"
	"strings"
)

// MuxPattern returns a function that names the operation of a request by its route in mux, "METHOD /pattern" or
// "METHOD host/pattern", before the request is routed. The pattern is the one that mux sets as the request's Pattern
// afterwards, so a request that mux will redirect has the pattern it is redirected to; a request that mux does not
// route is [Unmatched]. A pattern without a method names one operation for each method. The function may be called
// concurrently.
func MuxPattern(mux *http.ServeMux) func(*http.Request) string {
	if mux == nil {
		panic("middleware: MuxPattern of a nil mux")
	}
	return func(r *http.Request) string {
		if r.RequestURI == "*" {
			return Unmatched // mux answers it without routing
		}
		_, pattern := mux.Handler(r)
		if pattern == "" || r.Method == http.MethodConnect && isRedirect(r, pattern) {
			return Unmatched
		}
		return muxOperation(r.Method, pattern)
	}
}

// isRedirect reports whether what mux gave as the pattern of a CONNECT request is none, but the path it redirects to:
// no name that a client could choose is an operation.
func isRedirect(r *http.Request, pattern string) bool {
	return strings.HasSuffix(pattern, "/") && pattern == path.Clean("/"+r.URL.Path)+"/"
}

// muxOperation returns the operation of a request that matched pattern, which is [METHOD ][HOST]/[PATH].
func muxOperation(method, pattern string) string {
	end := strings.IndexAny(pattern, " \t")
	if end < 0 {
		return operationName(method, pattern)
	}
	rest := strings.TrimLeft(pattern[end:], " \t")
	if pattern[end] == ' ' && len(rest) == len(pattern)-end-1 && pattern[:end] != http.MethodHead {
		return pattern // as it is
	}
	return operationName(pattern[:end], rest)
}
