package middleware_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
)

// checkCosts expects router to have the operations of good and none of bad.
func checkCosts(t *testing.T, router http.Handler, good, bad []string) {
	t.Helper()
	costs := quota.Costs{quota.DefaultOperation: 1, middleware.Unmatched: 3}
	for _, key := range good {
		costs[key] = 5
	}
	if err := middleware.CheckCosts(router, costs); err != nil {
		t.Errorf("of routes that exist: %v", err)
	}
	for _, key := range bad {
		costs[key] = 7
	}
	err := middleware.CheckCosts(router, costs)
	if err == nil {
		t.Fatal("no error")
	}
	for _, key := range bad {
		if !strings.Contains(err.Error(), `"`+key+`"`) {
			t.Errorf("the error does not name %q: %v", key, err)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != len(bad) {
		t.Errorf("the error has %d lines, want %d: %v", lines, len(bad), err)
	}
}

func TestCheckCosts_Chi(t *testing.T) {
	r := chi.NewRouter()
	r.Get("/search", reached)
	r.Head("/head", reached)
	r.HandleFunc("/any", reached)
	r.Get("/items/", reached)
	r.Get("/items/{id:[0-9]+}", reached)
	r.Route("/api", func(r chi.Router) {
		r.Get("/", reached)
		r.Route("/v1", func(r chi.Router) { r.Post("/exports", reached) })
	})
	r.Get("/api/*", reached)
	r.Mount("/debug", http.HandlerFunc(reached))
	checkCosts(t, r,
		[]string{"GET /search", "GET /head", "PUT /any", "GET /items", "GET /items/{id:[0-9]+}", "GET /api", "POST /api/v1/exports",
			"GET /api/*", "GET /debug", "GET /debug/*"},
		[]string{"POST /search", "HEAD /head", "GET /items/", "GET /items/{id}", "GET /api/v1", "GET /api/v1/exports", "/search",
			"get /search", "GET  /search", ""})
}

func TestCheckCosts_ServeMux(t *testing.T) {
	mux := http.NewServeMux()
	for _, pattern := range []string{
		"GET /search", "/any", "GET /items/{id}", "GET /items/tenantgate", "/tree/", "/tree/{$}", "/tree/{x}", "GET /tree/{x}/{y}",
		"GET /dir/{rest...}", "api.example.com/", "GET api.example.com/{x}", "POST  /spaced", "GET /a%2Fb", "/deep/{x}/c/",
	} {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	checkCosts(t, mux,
		[]string{"GET /search", "PUT /any", "GET /items/{id}", "GET /items/tenantgate", "POST /tree/", "GET /tree/{$}", "POST /tree/{x}",
			"GET /tree/{x}/{y}", "GET /tree/", "GET /dir/{rest...}", "POST api.example.com/", "GET api.example.com/{x}", "POST /spaced",
			"GET /a%2Fb", "GET /deep/{x}/c/"},
		[]string{"POST /search", "HEAD /search", "GET /items/{other}", "GET /none", "GET example.com/search", "GET /any/", "/any",
			"POST  /spaced", "GET /dir", "GET /x/{", "GET"})
}

func TestCheckCosts_OtherRouter(t *testing.T) {
	if err := middleware.CheckCosts(http.NotFoundHandler(), nil); err == nil {
		t.Error("no error for a router without routes to list")
	}
}
