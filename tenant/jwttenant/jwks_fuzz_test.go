package jwttenant_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// FuzzJWKS_Document has what an issuer may send. The keys that it can have tokens of are always the same, so that a
// corpus is of use.
func FuzzJWKS_Document(f *testing.F) {
	ec := must(ecdsa.ParseRawPrivateKey(elliptic.P256(), secret))
	ed := ed25519.NewKeyFromSeed(secret)
	ecJWK, edJWK := jwk("a", ec, nil), jwk("a", ed, nil)
	rsaJWK := claims{"kty": "RSA", "kid": "a", "n": strings.Repeat("_", 342) + "8", "e": "AQAB"} // 2^2056 - 1
	tokens := map[string]claims{}                                                                // the key of each token
	for alg, signer := range map[string]crypto.Signer{"ES256": ec, "EdDSA": ed} {
		for _, id := range []string{"a", ""} {
			header := claims{"alg": alg, "kid": id}
			if id == "" {
				delete(header, "kid")
			}
			tokens[mint(alg, signer, header.json(), lasting().json())] = jwk("a", signer, nil)
		}
	}
	for _, keys := range [][]claims{
		nil, {ecJWK}, {edJWK}, {rsaJWK}, {ecJWK, edJWK, rsaJWK}, {ecJWK, ecJWK},
		{ecJWK.with(claims{"kid": absent})}, {edJWK.with(claims{"kid": absent}), ecJWK},
		{ecJWK.with(claims{"d": "AAAA"}), edJWK}, {ecJWK.with(claims{"use": "enc"})}, {ecJWK.with(claims{"alg": "EdDSA"})},
		{edJWK.with(claims{"issuer": "https://{tenantid}/", "key_ops": []string{"verify"}, "use": "sig", "alg": "EdDSA"})},
	} {
		f.Add(keySet(keys...))
	}
	for _, seed := range []string{
		``, `{}`, `[]`, `{"keys":[null,7,"",{},[]]}`, `{"keys":{}}`, `{"keys":[],"keys":[]}`, `{"Keys":[{}]}`,
		keySet(ecJWK) + `{}`,
		`{"x":1,"keys":[` + strings.Replace(ecJWK.json(), "{", `{"x":"",`, 1) + `]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document string) {
		p := publishing()
		p.serve(answering(document))
		r := newFetching(t, p, jwttenant.JWKSConfig{MaxWait: -1}, "ES256", "RS256", "EdDSA")
		ready := r.Ready(t.Context())
		stats := r.Stats().Keys[0]
		if (ready == nil) != (stats.Keys > 0) {
			t.Errorf("Ready says %v with %d keys", ready, stats.Keys)
		}
		published := publishedKeys(document)
		if stats.Keys+stats.Skipped > len(published) {
			t.Errorf("%d keys and %d skipped of %d", stats.Keys, stats.Skipped, len(published))
		}
		for token, key := range tokens {
			_, err := r.Resolve(request(token))
			if err == nil && !slices.ContainsFunc(published, func(k claims) bool { return isPublished(k, key) }) {
				t.Errorf("accepted a token that was signed with %v", key)
			}
		}
	})
}

// publishedKeys returns what package json finds in a document.
func publishedKeys(document string) (keys []claims) {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	if json.Unmarshal([]byte(document), &object) != nil || json.Unmarshal(object["keys"], &list) != nil {
		return nil
	}
	for _, text := range list {
		var key claims
		_ = json.Unmarshal(text, &key) // what is no object is one without members
		keys = append(keys, key)
	}
	return keys
}

// isPublished reports whether k is the same key as want, whatever members it has besides, and fit to verify with.
func isPublished(k, want claims) bool {
	for _, name := range []string{"kty", "crv", "x", "y"} {
		if value, ok := want[name]; ok && k[name] != value {
			return false
		}
	}
	_, private := k["d"]
	use, limited := k["use"]
	return !private && (!limited || use == "sig")
}
