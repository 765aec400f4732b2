package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/middleware"
)

func TestMuxPattern_NamesTheRoute(t *testing.T) {
	mux := http.NewServeMux()
	for _, pattern := range []string{
		"/", "GET /search", "/any", "GET /items/{id}", "POST\t /items/{id}", "/tree/", "GET /dir/{$}", "GET /dir/{rest...}",
		"api.example.com/", "GET api.example.com/v1/{x}", "HEAD /only", "CONNECT /tunnel/", "/w/{x}/",
	} {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	operation := middleware.MuxPattern(mux)
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/", "GET /"},
		{"GET", "/nothing/here", "GET /"},
		{"GET", "/search?q=1", "GET /search"},
		{"HEAD", "/search", "GET /search"},
		{"POST", "/search", "POST /"},
		{"PUT", "/any", "PUT /any"},
		{"GET", "/items/a%2Fb", "GET /items/{id}"},
		{"POST", "/items/7", "POST /items/{id}"},
		{"DELETE", "/items/7", "DELETE /"},
		{"GET", "/tree", "GET /tree/"}, // redirected
		{"GET", "/tree/a", "GET /tree/"},
		{"GET", "//search", "GET /search"}, // redirected to the clean path
		{"GET", "/dir/", "GET /dir/{$}"},
		{"GET", "/dir/a/b", "GET /dir/{rest...}"},
		{"GET", "http://api.example.com:8443/v1/7", "GET api.example.com/v1/{x}"},
		{"PUT", "http://api.example.com/v1/7", "PUT api.example.com/"},
		{"HEAD", "/only", "GET /only"},
		{"OPTIONS", "*", middleware.Unmatched},
	} {
		if got := operation(httptest.NewRequest(c.method, c.target, nil)); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.method, c.target, got, c.want)
		}
	}
}

func TestMuxPattern_NeverNamesWhatAClientMadeUp(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/{x}/", func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest("GET", "/", nil)
	r.Method, r.URL.Path = http.MethodConnect, "/exports"
	if got := middleware.MuxPattern(mux)(r); got != middleware.Unmatched {
		t.Errorf("a redirected CONNECT is %q, want %q", got, middleware.Unmatched)
	}
}

var muxPatterns = rapid.SampledFrom([]string{
	"/", "/{$}", "/a", "/a/", "/a/{$}", "/{x}", "/{x}/", "/a/b", "/a/{x}", "/{x}/b", "/a/{x...}", "/{x}/{y}/c", "/a%2Fb", "/a/b/{x}/",
})

var muxTargets = rapid.SampledFrom([]string{
	"/", "/a", "/a/", "/a/b", "/a/b/", "/b", "/b/", "/b/b", "/a/b/c", "/b/b/c", "/a/b/c/d", "/a%2Fb", "//a", "/a/./b", "/a/../b",
	"/a//b", "/a%20b", "/a/%2Fb", "/a/b/c/",
})

func TestMuxPattern_EqualsThePatternSetByRandomMuxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mux := http.NewServeMux()
		for range rapid.IntRange(1, 12).Draw(t, "routes") {
			pattern := rapid.SampledFrom([]string{"", "GET ", "POST ", "HEAD "}).Draw(t, "method") +
				rapid.SampledFrom([]string{"", "example.com", "other.org"}).Draw(t, "host") + muxPatterns.Draw(t, "pattern")
			func() {
				defer func() { _ = recover() }() // it conflicts with an earlier one, and is not registered
				mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
			}()
		}
		operation := middleware.MuxPattern(mux)
		for range 20 {
			method := rapid.SampledFrom([]string{"GET", "POST", "HEAD", "DELETE"}).Draw(t, "method")
			r := httptest.NewRequest(method, muxTargets.Draw(t, "target"), nil)
			r.Host = rapid.SampledFrom([]string{"example.com", "example.com:80", "other.org", "x"}).Draw(t, "host")
			got := operation(r)
			mux.ServeHTTP(httptest.NewRecorder(), r)
			if want := operationOf(method, r.Pattern); got != want {
				t.Fatalf("%s %s%s: said %q, routed to %q", method, r.Host, r.URL, got, want)
			}
		}
	})
}

// operationOf is the operation of a request that ServeMux has routed to pattern.
func operationOf(method, pattern string) string {
	if pattern == "" {
		return middleware.Unmatched
	}
	if own, rest, ok := strings.Cut(pattern, " "); ok {
		method, pattern = own, rest
	}
	if method == "HEAD" {
		method = "GET"
	}
	return method + " " + pattern
}

func FuzzMuxPattern(f *testing.F) {
	mux := http.NewServeMux()
	for _, pattern := range []string{"/", "GET /items/{id}", "POST /items/{id}", "/tree/", "GET /dir/{rest...}", "example.com/{x}/"} {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	operation := middleware.MuxPattern(mux)
	f.Add("GET", "example.com", "/items/7")
	f.Add("POST", "x:80", "/tree/../a%2Fb")
	f.Fuzz(func(t *testing.T, method, host, path string) {
		r, err := http.NewRequest(method, "http://example.com"+path, nil)
		if err != nil || method == http.MethodConnect {
			return
		}
		r.Host = host
		got := operation(r)
		mux.ServeHTTP(httptest.NewRecorder(), r)
		if want := operationOf(r.Method, r.Pattern); got != want {
			t.Errorf("%s %s%s: said %q, routed to %q", method, host, path, got, want)
		}
	})
}
