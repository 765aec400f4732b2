package middleware

import (
	"net/http"

	"github.com/tenantgate/tenantgate/quota"
)

// Unmatched is the operation of a request that no route matches. It may be given a cost of its own.
const Unmatched = "unmatched"

// operationName is "METHOD /pattern". HEAD counts as GET: it costs the service the same.
func operationName(method, pattern string) string {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return method + " " + pattern
}

// operation names what the request of p asks for. It asks for the name once, so that quota and weights judge the same.
func (g *Gate) operation(r *http.Request, p *passage) string {
	if g.cfg.Operation == nil {
		return quota.DefaultOperation
	}
	root := p.root()
	root.mu.Lock()
	name, named := p.operation, p.named
	root.mu.Unlock()
	if named {
		return name
	}
	name = g.cfg.Operation(r)
	root.mu.Lock()
	defer root.mu.Unlock()
	if !p.named {
		p.operation, p.named = name, true
	}
	if root.outcome.Operation == "" {
		root.outcome.Operation = p.operation
	}
	return p.operation
}
