package jwttenant_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// discoverable serves a document about an issuer at path, and keys at /keys.
func discoverable(path string, document func() string) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { answering(document())(w, r) })
	mux.HandleFunc("/keys", answering(keySet(jwk("a", ecKey(), nil))))
	return mux
}

const wellKnown = "/.well-known/openid-configuration"

func newDiscovering(t *testing.T, issuer string, cfg jwttenant.JWKSConfig) *jwttenant.Resolver {
	i := keyIssuer(jwttenant.Discovery(cfg), "ES256")
	i.Issuer = issuer
	r := newResolver(t, i)
	t.Cleanup(r.Close)
	return r
}

func TestDiscovery_FindsTheKeys(t *testing.T) {
	for _, path := range []string{"", "/", "/realms/a", "/realms/a/"} {
		t.Run(path, func(t *testing.T) {
			var issuer, keys string
			other := serveTLS(t, discoverable("/unused", nil)) // Google's are on another host
			server := serveTLS(t, discoverable(strings.TrimSuffix(path, "/")+wellKnown, func() string {
				return claims{"issuer": issuer, "jwks_uri": keys, "scopes_supported": []string{"openid"}}.json()
			}))
			issuer, keys = server.URL+path, other.URL+"/keys"
			r := newDiscovering(t, issuer, trusting(server))
			checkAnswer(t, r, request(signedBy("a", "ES256", ecKey(), claims{"iss": issuer})), nil)
		})
	}
}

func TestDiscovery_DocumentHasToFit(t *testing.T) {
	var self string
	var document func() string
	server := serveTLS(t, discoverable(wellKnown, func() string { return document() }))
	self = server.URL
	asked := func(http.ResponseWriter, *http.Request) { t.Error("asked without TLS") }
	plain := httptest.NewServer(http.HandlerFunc(asked))
	defer plain.Close()
	about := func(changes claims) func() string {
		return claims{"issuer": self, "jwks_uri": self + "/keys"}.with(changes).json
	}
	const noObject, otherIssuer = "not a JSON object", "about another issuer"
	for name, c := range map[string]struct {
		document func() string
		want     string
	}{
		"good":                  {about(nil), ""},
		"no JSON":               {func() string { return "<html>" }, noObject},
		"name twice":            {func() string { return `{"issuer":"x",` + about(nil)()[1:] }, noObject},
		"no issuer":             {about(claims{"issuer": absent}), otherIssuer},
		"issuer with a slash":   {about(claims{"issuer": self + "/"}), otherIssuer + `, "` + self + `/"`},
		"issuer in upper case":  {about(claims{"issuer": strings.ToUpper(self)}), otherIssuer},
		"issuer a list":         {about(claims{"issuer": []string{self}}), otherIssuer},
		"no jwks_uri":           {about(claims{"jwks_uri": absent}), "jwks_uri: the URL is none"},
		"jwks_uri a path":       {about(claims{"jwks_uri": "/keys"}), "jwks_uri: the URL is none"},
		"jwks_uri http":         {about(claims{"jwks_uri": "http://id.example.com/"}), "jwks_uri: the URL is not https"},
		"jwks_uri on loopback":  {about(claims{"jwks_uri": plain.URL}), "jwks_uri: the URL is not https"},
		"jwks_uri a file":       {about(claims{"jwks_uri": "file:///etc/keys"}), "jwks_uri: the URL is none"},
		"jwks_uri with a user":  {about(claims{"jwks_uri": strings.Replace(self, "://", "://u:p@", 1)}), "user info"},
		"jwks_uri of no keys":   {about(claims{"jwks_uri": self + wellKnown}), "array of keys"},
		"jwks_uri not there":    {about(claims{"jwks_uri": self + "/x?secret=1"}), "/x: status 404"},
		"jwks_uri no one hears": {about(claims{"jwks_uri": "https://127.0.0.1:1/"}), "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			document = c.document
			err := newDiscovering(t, self, trusting(server)).Ready(t.Context())
			checkReady(t, err, c.want)
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error %v has the query", err)
			}
		})
	}
}

func TestDiscovery_RedirectStaysWithTheOrigin(t *testing.T) {
	followed := func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }
	other := serveTLS(t, http.HandlerFunc(followed))
	server := serveTLS(t, http.RedirectHandler(other.URL, http.StatusFound))
	checkReady(t, newDiscovering(t, server.URL, trusting(server)).Ready(t.Context()), "another scheme, host or port")
}

// TestDiscovery_EachFetchReadsBoth: so that an issuer can move its keys.
func TestDiscovery_EachFetchReadsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := ecKeyOn(ecKey().Curve)
		keys := "https://keys.example.com/1"
		p := publishing()
		p.serve(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.String() {
			case "https://id.example.com" + wellKnown:
				w.Header().Set("Cache-Control", "max-age=60") // that of the keys counts
				answering(claims{"issuer": issuerName, "jwks_uri": keys}.json())(w, r)
			case "https://keys.example.com/1":
				answering(keySet(jwk("a", ecKey(), nil)))(w, r)
			case "https://keys.example.com/2":
				answering(keySet(jwk("b", next, nil)))(w, r)
			}
		})
		r := newDiscovering(t, issuerName, jwttenant.JWKSConfig{Transport: p})
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
		keys = "https://keys.example.com/2"
		time.Sleep(13 * time.Minute)
		checkFetches(t, p, 2)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := r.Stats().Keys[0]; got.Fetches != 2 {
			t.Errorf("%d fetches, want 2", got.Fetches)
		}
		checkAnswer(t, r, request(es256("b", next)), nil)
		checkAnswer(t, r, request(es256("a", ecKey())), tenant.ErrInvalid)
	})
}

// TestDiscovery_TimeoutIsForBothDocuments: MaxStale counts on it.
func TestDiscovery_TimeoutIsForBothDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const issuer = "https://id.example.com"
		documents := discoverable(wellKnown, claims{"issuer": issuer, "jwks_uri": issuer + "/keys"}.json)
		p := publishing()
		p.serve(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(3 * time.Second):
				documents.ServeHTTP(w, r)
			case <-r.Context().Done():
			}
		})
		start := time.Now()
		cfg := jwttenant.JWKSConfig{Transport: p, Logger: slog.New(slog.DiscardHandler)}
		checkReady(t, newDiscovering(t, issuer, cfg).Ready(t.Context()), issuer+"/keys: no answer within 5s")
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the fetch took %v, want 5s", took)
		}
	})
}
