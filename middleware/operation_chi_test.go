package middleware_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	chimw "github.com/go-chi/chi/v5/middleware"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/middleware"
)

// said records what operation says of each request that passes, before it is routed any further.
type said struct {
	operation func(*http.Request) string
	names     []string
}

func (s *said) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.names = append(s.names, s.operation(r))
		next.ServeHTTP(w, r)
	})
}

// reached answers with the operation that chi has routed to.
func reached(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, r.Method, " ", chi.RouteContext(r.Context()).RoutePattern())
}

// wantOperation is what the recorder's answer, written by [reached], says the operation was.
func wantOperation(rec *httptest.ResponseRecorder) string {
	if rec.Code == http.StatusNotFound || rec.Code == http.StatusMethodNotAllowed {
		return middleware.Unmatched
	}
	return rec.Body.String()
}

func TestChiPattern_SaysBeforeRoutingWhatChiReportsAfter(t *testing.T) {
	root := chi.NewRouter()
	s := &said{operation: middleware.ChiPattern(root)}
	root.Use(s.middleware)
	root.Get("/", reached)
	root.Get("/search", reached)
	root.Get("/items/", reached)
	root.Get("/items/{id}", reached)
	root.Post("/items/{name}", reached)
	root.Get("/items/{id:[0-9]+}/parts", reached)
	root.Get("/files/*", reached)
	root.Get("/v{major}.{minor}", reached)
	root.HandleFunc("/any", reached)
	root.Head("/head", reached)
	root.Route("/api", func(r chi.Router) {
		r.Use(s.middleware)
		r.Get("/", reached)
		r.Get("/users/{id}", reached)
		r.Route("/v1", func(r chi.Router) {
			r.Use(s.middleware)
			r.Get("/deep", reached)
			r.With(s.middleware).Post("/deep", reached)
		})
	})
	root.Route("/bare", func(r chi.Router) { r.Get("/x", reached) })
	root.Post("/bare", reached)
	root.Get("/bare/*", reached)
	root.Group(func(r chi.Router) {
		r.Use(s.middleware)
		r.Get("/grouped", reached)
		r.Route("/group", func(r chi.Router) { r.Get("/", reached); r.Get("/{a}/b", reached) })
		r.Route("/slash/", func(r chi.Router) { r.Get("/", reached); r.Get("/c", reached) })
	})
	root.Mount("/opaque", http.HandlerFunc(reached))

	for _, c := range []struct{ method, target, want string }{
		{"GET", "/", "GET /"},
		{"GET", "/search?q=1", "GET /search"},
		{"POST", "/search", middleware.Unmatched},
		{"GET", "/search/", middleware.Unmatched},
		{"GET", "/items/", "GET /items"},
		{"GET", "/items/7", "GET /items/{id}"},
		{"POST", "/items/7", "POST /items/{name}"},
		{"GET", "/items/7/parts", "GET /items/{id:[0-9]+}/parts"},
		{"GET", "/items/x/parts", middleware.Unmatched},
		{"GET", "/items/a%2Fb", "GET /items/{id}"},
		{"GET", "/items/a/b", middleware.Unmatched},
		{"GET", "/files/a/b", "GET /files/*"},
		{"GET", "/files/", "GET /files/*"},
		{"GET", "/v1.2", "GET /v{major}.{minor}"},
		{"QUERY", "/any", "QUERY /any"},
		{"BREW", "/any", middleware.Unmatched},
		{"GET", "/api", "GET /api"},
		{"GET", "/api/", "GET /api"},
		{"POST", "/api", middleware.Unmatched},
		{"GET", "/api/users/7", "GET /api/users/{id}"},
		{"GET", "/api/users%2F7", middleware.Unmatched},
		{"GET", "/api/v1/deep", "GET /api/v1/deep"},
		{"POST", "/api/v1/deep", "POST /api/v1/deep"},
		{"GET", "/api/v1", middleware.Unmatched},
		{"GET", "/bare", middleware.Unmatched},
		{"POST", "/bare", "POST /bare"},
		{"GET", "/bare/x", "GET /bare/*"},
		{"GET", "/bare/y", "GET /bare/*"},
		{"POST", "/bare/x", middleware.Unmatched},
		{"GET", "/grouped", "GET /grouped"},
		{"GET", "/group", "GET /group"},
		{"GET", "/group/x/b", "GET /group/{a}/b"},
		{"GET", "/group/x/c", middleware.Unmatched},
		{"GET", "/slash/", "GET /slash"},
		{"GET", "/slash/c", "GET /slash/c"},
		{"GET", "/opaque", "GET /opaque"},
		{"GET", "/opaque/x", "GET /opaque/*"},
		{"GET", "/none", middleware.Unmatched},
		{"HEAD", "/head", "GET /head"},
		{"HEAD", "/search", "GET /search"}, // 405 here, but what it would cost behind GetHead
		{"GET", "*", middleware.Unmatched},
	} {
		t.Run(c.method+" "+c.target, func(t *testing.T) {
			s.names = nil
			rec := httptest.NewRecorder()
			root.ServeHTTP(rec, httptest.NewRequest(c.method, c.target, nil))
			if got := wantOperation(rec); got != c.want && c.method != "HEAD" {
				t.Fatalf("chi routed to %q, the table wants %q", got, c.want)
			}
			for i, name := range s.names {
				if name != c.want {
					t.Errorf("piece %d says %q, want %q", i, name, c.want)
				}
			}
		})
	}
}

func TestChiPattern_FollowsMiddlewareThatRewroteTheRouteBefore(t *testing.T) {
	root := chi.NewRouter()
	s := &said{operation: middleware.ChiPattern(root)}
	root.Use(chimw.StripSlashes, chimw.GetHead, s.middleware)
	root.Get("/search", reached)
	root.Route("/api", func(r chi.Router) {
		r.Use(s.middleware)
		r.Get("/{id}", reached)
	})
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/search/", "GET /search"},
		{"HEAD", "/search/", "GET /search"},
		{"GET", "/api/7/", "GET /api/{id}"},
		{"HEAD", "/api/7", "GET /api/{id}"},
	} {
		s.names = nil
		root.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.target, nil))
		for i, name := range s.names {
			if name != c.want {
				t.Errorf("%s %s: piece %d says %q, want %q", c.method, c.target, i, name, c.want)
			}
		}
		if len(s.names) == 0 {
			t.Errorf("%s %s: reached no piece", c.method, c.target)
		}
	}
}

func TestChiPattern_InsideARouterThatIsMountedBehindAnotherHandler(t *testing.T) {
	inner := chi.NewRouter()
	s := &said{operation: middleware.ChiPattern(inner)}
	inner.Use(s.middleware)
	inner.Get("/users/{id}", reached)
	inner.Route("/v1", func(r chi.Router) { r.With(s.middleware).Get("/x", reached) })
	root := chi.NewRouter()
	root.Mount("/api", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r) }))
	root.With(s.middleware).Get("/plain", reached)

	for target, want := range map[string]string{
		"/api/users/7": "GET /api/users/{id}",
		"/api/v1/x":    "GET /api/v1/x",
		"/api/none":    middleware.Unmatched,
		"/plain":       "GET /plain",
	} {
		s.names = nil
		rec := httptest.NewRecorder()
		root.ServeHTTP(rec, httptest.NewRequest("GET", target, nil))
		if got := wantOperation(rec); got != want {
			t.Fatalf("%s: chi routed to %q, want %q", target, got, want)
		}
		for i, name := range s.names {
			if name != want {
				t.Errorf("%s: piece %d says %q, want %q", target, i, name, want)
			}
		}
	}
}

func TestChiPattern_OutsideTheRouter(t *testing.T) {
	root := chi.NewRouter()
	root.Route("/api", func(r chi.Router) { r.Get("/{id}", reached) })
	operation := middleware.ChiPattern(root)
	if got := operation(httptest.NewRequest("GET", "/api/7", nil)); got != "GET /api/{id}" {
		t.Errorf("got %q", got)
	}
	root.Get("/late", reached) // routes may come after the first request
	if got := operation(httptest.NewRequest("GET", "/late", nil)); got != "GET /late" {
		t.Errorf("got %q", got)
	}
}

func TestChiPattern_PanicsWithoutRouter(t *testing.T) {
	for name, call := range map[string]func(){
		"chi":       func() { middleware.ChiPattern(nil) },
		"typed nil": func() { middleware.ChiPattern((*chi.Mux)(nil)) },
		"mux":       func() { middleware.MuxPattern(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

// chiGen draws routers of a few colliding patterns, so that static, parameter, wildcard and mounted routes meet.
type chiGen struct {
	t    *rapid.T
	said *said
}

var chiPatterns = rapid.SampledFrom([]string{
	"/", "/a", "/a/", "/a/b", "/{x}", "/{x}/", "/{x}/b", "/a/{x}", "/{x:[0-9]+}", "/a-{x}", "/*", "/a/*", "/{x}/*", "/a%2Fb",
})

var chiMounts = rapid.SampledFrom([]string{"/", "/a", "/a/", "/{x}", "/a/b", "/a/{x}"})

func (g *chiGen) fill(router chi.Router, depth int) {
	for range rapid.IntRange(1, 5).Draw(g.t, "routes") {
		g.quietly(func() {
			r := router
			if rapid.IntRange(0, 3).Draw(g.t, "with") == 0 {
				r = r.With(g.said.middleware)
			}
			method := rapid.SampledFrom([]string{"GET", "POST", "*"}).Draw(g.t, "method")
			pattern := chiPatterns.Draw(g.t, "pattern")
			if method == "*" {
				r.HandleFunc(pattern, reached)
			} else {
				r.MethodFunc(method, pattern, reached)
			}
		})
		if depth > 0 && rapid.Bool().Draw(g.t, "mount") {
			g.quietly(func() { g.mount(router, depth) })
		}
	}
}

func (g *chiGen) mount(router chi.Router, depth int) {
	if rapid.Bool().Draw(g.t, "grouped") {
		router = router.With(g.said.middleware)
	}
	sub := chi.NewRouter()
	if rapid.Bool().Draw(g.t, "used") {
		sub.Use(g.said.middleware)
	}
	g.fill(sub, depth-1)
	router.Mount(chiMounts.Draw(g.t, "at"), sub)
}

// quietly does what chi may refuse with a panic: the router is then as it was.
func (g *chiGen) quietly(register func()) {
	defer func() {
		if p := recover(); p != nil && !strings.HasPrefix(fmt.Sprint(p), "chi: ") {
			panic(p)
		}
	}()
	register()
}

var chiTargets = rapid.SampledFrom([]string{
	"/", "/a", "/a/", "/a/b", "/a/b/", "/b", "/b/", "/b/b", "/a/a", "/a/a/b", "/a/b/a", "/a/b/c/d", "/7", "/7/b", "/a-7", "/a//b",
	"//", "/a%2Fb", "/a/%2F/b", "/a%20b", "/a/a%2Fb/b", "/a/7", "/a/b/7", "/a/b/a-", "/a/b/a/b",
})

func TestChiPattern_EqualsRoutePatternOnRandomRouters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := chi.NewRouter()
		s := &said{operation: middleware.ChiPattern(root)}
		root.Use(s.middleware)
		(&chiGen{t: t, said: s}).fill(root, 3)
		for range 20 {
			method := rapid.SampledFrom([]string{"GET", "POST", "DELETE"}).Draw(t, "method")
			target := chiTargets.Draw(t, "target")
			s.names = nil
			rec := httptest.NewRecorder()
			root.ServeHTTP(rec, httptest.NewRequest(method, target, nil))
			want := wantOperation(rec)
			for i, name := range s.names {
				if name != want {
					t.Fatalf("%s %s: piece %d says %q, chi routed to %q", method, target, i, name, want)
				}
			}
		}
	})
}

func FuzzChiPattern(f *testing.F) {
	root := chi.NewRouter()
	s := &said{operation: middleware.ChiPattern(root)}
	root.Use(s.middleware)
	root.Get("/items/{id:[0-9]+}", reached)
	root.Get("/files/*", reached)
	root.HandleFunc("/v{major}.{minor}", reached)
	root.Group(func(r chi.Router) {
		r.Use(s.middleware)
		r.Route("/api", func(r chi.Router) {
			r.Use(s.middleware)
			r.Get("/", reached)
			r.Route("/{tenant}/", func(r chi.Router) { r.Post("/{id}", reached) })
		})
	})
	f.Add("GET", "/items/7")
	f.Add("POST", "/api/a%2Fb/c")
	f.Add("HEAD", "//api/")
	f.Fuzz(func(t *testing.T, method, path string) {
		r, err := http.NewRequest(method, "http://example.com"+path, nil)
		if err != nil || method == http.MethodHead {
			return
		}
		s.names = nil
		w := httptest.NewRecorder()
		root.ServeHTTP(w, r)
		for i, name := range s.names {
			if want := wantOperation(w); name != want {
				t.Errorf("%s %s: piece %d says %q, chi routed to %q", method, path, i, name, want)
			}
		}
	})
}
