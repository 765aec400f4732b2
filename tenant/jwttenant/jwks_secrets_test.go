package jwttenant_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// TestJWKS_ShowsNothingOfWhatItFetches: neither a log line nor an error nor anything that can be printed has a part of a
// key or a document, of a query or of a token.
func TestJWKS_ShowsNothingOfWhatItFetches(t *testing.T) {
	const needle = "n33dle"
	ec := jwk("a", ecKey(), nil)
	documents := map[string]http.HandlerFunc{
		"no JSON":  answering(needle),
		"no keys":  answering(`{"` + needle + `":"` + needle + `"}`),
		"status":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, needle, http.StatusTeapot) },
		"redirect": http.RedirectHandler("https://"+needle, http.StatusFound).ServeHTTP,
		"secret":   answering(keySet(claims{"kty": "oct", "k": needle}, ec.with(claims{"d": needle}))),
	}
	for _, name := range []string{"kty", "kid", "use", "alg", "crv", "x", "y", "key_ops", "issuer", needle} {
		documents[name] = answering(keySet(ec.with(claims{name: needle})))
		documents[name+" and a line break"] = answering(keySet(ec.with(claims{name: needle + "\n"})))
		documents[name+" in a list"] = answering(keySet(ec.with(claims{name: []string{needle}})))
	}
	for name, answer := range documents {
		t.Run(name, func(t *testing.T) {
			p := publishing()
			p.serve(answer)
			logger, lines := newLogger()
			cfg := jwttenant.JWKSConfig{Transport: p, Logger: logger, MaxWait: -1}
			source := jwttenant.JWKS(keysURL+"?"+needle, cfg)
			r := newResolver(t, keyIssuer(source, "ES256"))
			defer r.Close()
			shown := fmt.Sprint(r.Ready(t.Context()))
			credential := es256(needle, ecKey())
			_, err := r.Resolve(request(credential))
			r.Close()
			shown += printed(t, err) + printed(t, r.Stats())
			for len(lines) > 0 {
				shown += <-lines
			}
			for _, secret := range append(strings.Split(credential, "."), needle, ec["x"].(string), ec["y"].(string)) {
				if strings.Contains(shown, secret) {
					t.Errorf("a secret is shown in %.1000s", shown)
				}
			}
			if printed := printed(t, source); strings.Contains(printed, needle) {
				t.Errorf("the source is printed with its URL: %s", printed)
			}
		})
	}
}
