package jwttest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

const (
	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/.well-known/jwks.json"
)

// ServeHTTP answers as the server of a real issuer does. Paths that end in /.well-known/openid-configuration have the
// document that [jwttenant.Discovery] reads: the issuer's name and where its keys are, on the host that was asked. All
// others have the keys, as a JWK Set, for [jwttenant.JWKS]. Neither has a Cache-Control, so that it is for
// [jwttenant.JWKSConfig] to say when it is fetched again.
//
// An issuer that signs by HMAC has nothing to publish: the status is 404.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	public := i.key.Load().public
	if public == nil {
		http.NotFound(w, r)
		return
	}
	document := map[string]any{"keys": []any{public}}
	if base, ok := strings.CutSuffix(r.URL.Path, discoveryPath); ok {
		keys := url.URL{Scheme: "https", Host: r.Host, Path: base + keysPath}
		if r.TLS == nil {
			keys.Scheme = "http"
		}
		document = map[string]any{
			"issuer":                                i.config.Issuer,
			"jwks_uri":                              keys.String(),
			"id_token_signing_alg_values_supported": i.config.Algorithms,
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document) // fails only where the client is gone
}
