package middleware

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
)

// ChiPattern returns a function that names the operation of a request by its chi route, "METHOD /pattern", before the
// request is routed. The pattern is the one that chi's RouteContext.RoutePattern reports afterwards; a request that
// routes will not reach is [Unmatched]. As chi reports it, no pattern but "/" ends in a slash: Get("/") of a router
// that is mounted at /orders is "GET /orders".
//
// Give it the router that the server serves. The function may be used around that router, in Use of it or of a
// sub-router, in With and in Group. It honours what earlier middlewares set in chi's context (RoutePath, RouteMethod),
// but cannot foresee what later ones will: put StripSlashes and its like before the gate. Only where the gate is used
// inside a router that is mounted behind a handler which is no chi router, give it that inner router.
//
// A HEAD request that has no route of its own is named by its GET route, whether or not chi's GetHead serves it: an
// expensive operation is not to be had at the price of another method. The function may be called concurrently.
func ChiPattern(routes chi.Routes) func(*http.Request) string {
	if isNil(routes) {
		panic("middleware: ChiPattern of a nil router")
	}
	n := &chiNamer{given: routes}
	n.scratch.New = func() any { return chi.NewRouteContext() }
	n.places.Store(&map[placeKey]place{})
	return n.operation
}

// chiNamer asks chi's own Find which patterns a path takes through the routers, and Routes what stands at each of
// them, because Find alone cannot tell: it reports the bare path of a mounted router as a route whether or not the
// router has one, and follows a mount although a route was registered over it. What stands where is remembered.
type chiNamer struct {
	given   chi.Routes
	scratch sync.Pool // of *chi.Context

	places atomic.Pointer[map[placeKey]place] // replaced, never changed
	mu     sync.Mutex                         // held to replace places
}

// placeKey is a way through the routers: one pattern in each. There are as many as there are routes and methods.
type placeKey struct {
	root     chi.Routes
	method   string
	patterns string // joined by NUL
	passed   int
}

// place is where a way leads: to a route, or to a router.
type place struct {
	operation string
	router    chi.Routes // nil: to a route
	bare      bool       // to the router's own path, so that "/" remains
}

func (n *chiNamer) operation(r *http.Request) string {
	routed := chi.RouteContext(r.Context())
	method := r.Method
	if routed != nil && routed.RouteMethod != "" {
		method = routed.RouteMethod
	}
	operation := n.find(r, routed, method)
	if operation == "" && method == http.MethodHead {
		operation = n.find(r, routed, http.MethodGet)
	}
	if operation == "" {
		return Unmatched
	}
	return operation
}

// find returns the operation of r, taken as a request of the given method, and "" where there is no route.
func (n *chiNamer) find(r *http.Request, routed *chi.Context, method string) string {
	way := n.scratch.Get().(*chi.Context)
	defer n.scratch.Put(way)
	way.Reset()

	root, at, path := n.given, n.given, ""
	passed := 0
	if routed != nil {
		if routed.Routes != nil {
			root, at = routed.Routes, routed.Routes
		}
		if way.RoutePatterns = append(way.RoutePatterns, routed.RoutePatterns...); len(way.RoutePatterns) > 0 {
			passed = patternsPassed(routed)
			here := n.place(root, method, way.RoutePatterns, passed)
			if here.router == nil {
				return here.operation // a middleware of the route itself
			}
			at, path = here.router, n.rest(r, root, routed, method, here.bare)
		} else {
			path = routed.RoutePath
		}
	}
	if path == "" {
		path = chiPath(r)
	}
	for {
		known := len(way.RoutePatterns)
		at.Find(way, method, path)
		if len(way.RoutePatterns) == known {
			return ""
		}
		next := n.place(root, method, way.RoutePatterns, passed)
		if next.router == nil || !next.bare {
			return next.operation
		}
		at, path = next.router, "/"
	}
}

// place returns where patterns lead from root. Of the first passed patterns it is known that routing went on behind
// them.
func (n *chiNamer) place(root chi.Routes, method string, patterns []string, passed int) place {
	key := placeKey{root, method, strings.Join(patterns, "\x00"), passed}
	if p, ok := (*n.places.Load())[key]; ok {
		return p
	}
	p := n.explore(root, method, patterns, passed)
	n.mu.Lock()
	defer n.mu.Unlock()
	places := maps.Clone(*n.places.Load())
	places[key] = p
	n.places.Store(&places)
	return p
}

func (n *chiNamer) explore(root chi.Routes, method string, patterns []string, passed int) place {
	at, bare, metGiven := root, false, root == n.given
	for i, pattern := range patterns {
		at, bare = mounted(at, method, pattern)
		if at == nil && i < passed && !metGiven {
			at = n.given // mounted behind a handler that is no router
		}
		if at == nil {
			return place{operation: operationName(method, chiPattern(patterns[:i+1]))}
		}
		metGiven = metGiven || at == n.given
	}
	return place{router: at, bare: bare}
}

// mounted returns the router that is mounted at a pattern of router, and nil where requests of the method end there.
// bare: the pattern is the mount's own path, without anything behind it.
func mounted(router chi.Routes, method, pattern string) (sub chi.Routes, bare bool) {
	below := strings.TrimSuffix(pattern, "/") + "/*"
	for _, route := range router.Routes() {
		switch {
		case route.Pattern == pattern && route.Handlers[method] != nil:
			return nil, false // a route of its own, beside the mount
		case route.SubRoutes == nil:
		case route.Pattern == pattern:
			sub, bare = route.SubRoutes, false
		case route.Pattern == below && sub == nil:
			sub, bare = route.SubRoutes, true
		}
	}
	return sub, bare
}

// patternsPassed returns how many of the patterns that were matched so far lead on for certain. The last one may be
// that of the route in whose own middleware we are; a mount has put the rest of the path into RoutePath and emptied
// the wildcard.
func patternsPassed(routed *chi.Context) int {
	last := len(routed.RoutePatterns) - 1
	if strings.HasSuffix(routed.RoutePatterns[last], "*") && routed.RoutePath != "" && wildcard(routed) == "" {
		return last + 1
	}
	return last
}

// chiPath is the path that the outermost router routes by, if nothing has set another.
func chiPath(r *http.Request) string {
	switch {
	case r.URL.RawPath != "":
		return r.URL.RawPath
	case r.URL.Path != "":
		return r.URL.Path
	}
	return "/"
}

// rest is the path that a router routes by which is mounted at the last pattern that was matched.
func (n *chiNamer) rest(r *http.Request, root chi.Routes, routed *chi.Context, method string, bare bool) string {
	switch {
	case bare, routed.RoutePath == "":
		return "/" + wildcard(routed)
	case wildcard(routed) != "":
		return "/" + wildcard(routed) // in a middleware of the mount, before the rest is put into RoutePath
	case len(routed.RoutePath) > 1 && strings.HasSuffix(routed.RoutePath, "/") && n.unmounted(r, root, routed, method):
		return "/" // likewise, and there is no rest
	}
	return routed.RoutePath
}

// unmounted tells two cases apart in which the wildcard is empty: RoutePath is what the last pattern matched, rather
// than what it left. It is the former if it is that when the whole path is routed once more.
func (n *chiNamer) unmounted(r *http.Request, root chi.Routes, routed *chi.Context, method string) bool {
	way := n.scratch.Get().(*chi.Context)
	defer n.scratch.Put(way)
	way.Reset()
	whole := chiPath(r)
	root.Find(way, method, whole)
	last := len(routed.URLParams.Keys) - 1
	if last < 0 || last >= len(way.URLParams.Values) || way.URLParams.Values[last] != "" {
		return false
	}
	for i := last - 1; i >= 0; i-- {
		if way.URLParams.Keys[i] == "*" {
			return routed.RoutePath == "/"+way.URLParams.Values[i]
		}
	}
	return routed.RoutePath == whole
}

// wildcard is what the last pattern's wildcard matched; "" also where it has none, or a mount has taken it.
func wildcard(routed *chi.Context) string {
	last := len(routed.URLParams.Keys) - 1
	if last < 0 || routed.URLParams.Keys[last] != "*" || last >= len(routed.URLParams.Values) {
		return ""
	}
	return routed.URLParams.Values[last]
}

// chiPattern is the pattern that chi reports once it has routed by patterns.
func chiPattern(patterns []string) string {
	return (&chi.Context{RoutePatterns: patterns}).RoutePattern()
}
