package jwttenant_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// TestJWKS_UnchangedKeyStaysTheSame: so that what is remembered for it lives on.
func TestJWKS_UnchangedKeyStaysTheSame(t *testing.T) {
	other := ecKeyOn(ecKey().Curve)
	one, two := []claims{jwk("a", ecKey(), nil)}, []claims{jwk("a", ecKey(), nil), jwk("a", other, nil)}
	for name, c := range map[string]struct {
		first, next []claims
		same        bool
	}{
		"as it was":          {one, one, true},
		"beside another":     {one, []claims{jwk("b", other, nil), one[0]}, true},
		"with a certificate": {one, []claims{jwk("a", ecKey(), claims{"x5t": "x", "use": "sig"})}, true},
		"twice":              {one, []claims{one[0], one[0]}, true},
		"in another order":   {two, []claims{two[1], two[0]}, true},
		"another of that ID": {one, two, false},
		"one of two removed": {two, one, false},
		"for one issuer":     {one, []claims{jwk("a", ecKey(), claims{"issuer": issuerName})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := publishing(c.first...)
				r := newFetching(t, p, jwttenant.JWKSConfig{})
				remembered := es256("a", ecKey())
				checkAnswer(t, r, request(remembered), nil)
				p.publish(c.next...)
				time.Sleep(15 * time.Minute)
				synctest.Wait()
				checkAnswer(t, r, request(remembered), nil)
				if got := r.Stats().Recalled == 1; got != c.same {
					t.Errorf("the token was still remembered: %v, want %v", got, c.same)
				}
			})
		})
	}
}

// TestJWKS_RemovedKeyIsGone: from the refresh on, not from the next token on.
func TestJWKS_RemovedKeyIsGone(t *testing.T) {
	other := ecKeyOn(ecKey().Curve)
	for name, next := range map[string][]claims{
		"removed":          {jwk("b", other, nil)},
		"all removed":      nil,
		"another material": {jwk("a", other, nil)},
		"not for that":     {jwk("a", ecKey(), claims{"use": "enc"})},
		"for another iss":  {jwk("a", ecKey(), claims{"issuer": "https://other.example.com/"})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := publishing(jwk("a", ecKey(), nil))
				r := newFetching(t, p, jwttenant.JWKSConfig{})
				remembered := es256("a", ecKey())
				checkAnswer(t, r, request(remembered), nil)
				p.publish(next...)
				time.Sleep(15 * time.Minute)
				synctest.Wait()
				checkPrompt(t, func() { checkAnswer(t, r, request(remembered), tenant.ErrInvalid) })
			})
		})
	}
}

// TestJWKS_BadDocumentChangesNothing: it is an error of the issuer's, and no word about its keys.
func TestJWKS_BadDocumentChangesNothing(t *testing.T) {
	deep := `{"keys":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	many := slices.Repeat([]claims{jwk("a", ecKey(), nil)}, 257)
	for name, c := range map[string]struct{ document, want string }{
		"empty":          {"", "not a JSON object"},
		"HTML":           {"<html>", "not a JSON object"},
		"list":           {"[" + keySet() + "]", "not a JSON object"},
		"null":           {"null", "not a JSON object"},
		"no keys":        {"{}", "not a JSON object"},
		"Keys":           {`{"Keys":[]}`, "not a JSON object"},
		"keys null":      {`{"keys":null}`, "not a JSON object"},
		"keys an object": {`{"keys":{}}`, "not a JSON object"},
		"keys twice":     {`{"keys":[],"keys":[]}`, "not a JSON object"},
		"keys escaped":   {`{"keys":[],"\u006beys":[]}`, "not a JSON object"},
		"cut short":      {`{"keys":[]`, "not a JSON object"},
		"cut in a key":   {strings.TrimSuffix(keySet(jwk("a", ecKey(), nil)), "}]}"), "not a JSON object"},
		"two documents":  {keySet() + keySet(), "not a JSON object"},
		"deep":           {deep, "not a JSON object"},
		"many keys":      {keySet(many...), "more than 256 keys"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := publishing()
				p.serve(answering(c.document))
				r := newFetching(t, p, jwttenant.JWKSConfig{})
				checkReady(t, r.Ready(t.Context()), keysURL+": the document ")
				checkReady(t, r.Ready(t.Context()), c.want)
				p.publish(jwk("a", ecKey(), nil))
				time.Sleep(time.Second)
				synctest.Wait()
				checkReady(t, r.Ready(t.Context()), "")

				p.serve(answering(c.document))
				time.Sleep(time.Hour)
				checkAnswer(t, r, request(es256("a", ecKey())), nil)
				checkReady(t, r.Ready(t.Context()), "")
				if s := r.Stats().Keys[0]; s.Keys != 1 || s.Failures < 2 || s.Fetches != s.Failures+1 {
					t.Errorf("stats %+v, want 1 key and one fetch that did not fail", s)
				}
			})
		})
	}
}

func TestJWKS_MostKeysOfADocument(t *testing.T) {
	p := publishing(append(slices.Repeat([]claims{{"kty": "oct", "k": "AAAA"}}, 255), jwk("a", ecKey(), nil))...)
	r := newFetching(t, p, jwttenant.JWKSConfig{})
	checkAnswer(t, r, request(es256("a", ecKey())), nil)
	if s := r.Stats().Keys[0]; s.Keys != 1 || s.Skipped != 255 {
		t.Errorf("stats %+v, want 1 key and 255 skipped", s)
	}
}

// TestJWKS_IssuerMayRevokeAll: a document without keys is a document.
func TestJWKS_IssuerMayRevokeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		logger, lines := newLogger()
		r := newFetching(t, p, jwttenant.JWKSConfig{Logger: logger})
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
		p.publish()
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		checkAnswer(t, r, request(es256("a", ecKey())), tenant.ErrInvalid)
		checkAnswer(t, r, request(signedBy("", "ES256", ecKey(), nil)), tenant.ErrInvalid)
		checkReady(t, r.Ready(t.Context()), keysURL+" has no key that can be used: there are no others")
		checkMessages(t, lines, "no key that the issuer publishes can be used")

		p.publish(jwk("a", ecKey(), claims{"use": "enc"}))
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		checkReady(t, r.Ready(t.Context()), keysURL+" has no key that can be used: key 0: use is not sig")
	})
}

// TestJWKS_LogsChangesOnly: one line when something begins or ends, however long it lasts.
func TestJWKS_LogsChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil), jwk("b", ecKey(), claims{"use": "enc"}))
		logger, lines := newLogger()
		newFetching(t, p, jwttenant.JWKSConfig{Logger: logger})
		for range 2 {
			time.Sleep(5 * time.Hour)
			p.serve(failing(http.StatusInternalServerError))
			time.Sleep(5 * time.Hour)
			p.publish(jwk("a", ecKey(), nil), jwk("b", ecKey(), claims{"use": "enc"}))
		}
		time.Sleep(5 * time.Hour)
		p.publish(jwk("a", ecKey(), nil), jwk("b", ecKey(), claims{"alg": "ES384"}))
		time.Sleep(5 * time.Hour)
		const skipped = "keys that the issuer publishes are skipped"
		const down, up = "keys cannot be fetched", "keys are fetched again"
		checkMessages(t, lines, skipped, down, up, down, up, skipped)
	})
}
