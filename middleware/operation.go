package middleware

import "net/http"

// Unmatched is the operation of a request that no route matches. It may be given a cost of its own.
const Unmatched = "unmatched"

// operationName is "METHOD /pattern". HEAD counts as GET: it costs the service the same.
func operationName(method, pattern string) string {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return method + " " + pattern
}
