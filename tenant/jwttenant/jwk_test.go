package jwttenant_test

import (
	"bytes"
	"crypto"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

var smallRSA = must(rsa.GenerateKey(rand.Reader, 1024))

func encoded(b ...byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decoded(s any) []byte { return must(base64.RawURLEncoding.DecodeString(s.(string))) }

// TestJWK_CountsIfItIsFit: a document has a good key and one more, and whatever that is, the good one counts.
func TestJWK_CountsIfItIsFit(t *testing.T) {
	ec, rsaPub, ed := jwk("k", ecKey(), nil), jwk("k", rsaKey(), nil), jwk("k", ed25519Key(), nil)
	p384, p521 := ecKeyOn(elliptic.P384()), ecKeyOn(elliptic.P521())
	x := decoded(ec["x"])
	offCurve := bytes.Clone(x)
	offCurve[31] ^= 1
	zeros := make([]byte, 32)
	oddNumber := bytes.Repeat([]byte{0xff}, 2049)
	for _, c := range []struct {
		name string
		key  any // as it is published
		skip string
	}{
		{"EC", ec, ""},
		{"RSA", rsaPub, ""},
		{"OKP", ed, ""},
		{"P-384", jwk("k", p384, nil), ""},
		{"P-521", jwk("k", p521, nil), ""},
		{"unknown members", ec.with(claims{"x5c": []int{1}, "ext": true, "nbf": raw(`{"a":[]}`)}), ""},
		{"RSA with a leading zero", rsaPub.with(claims{"n": encoded(append([]byte{0}, decoded(rsaPub["n"])...)...)}), ""},

		{"not an object", 7, "not a JSON object"},
		{"null", nil, "not a JSON object"},
		{"name twice", raw(strings.Replace(ec.json(), "{", `{"x":"AAAA",`, 1)), "a name twice"},
		{"name twice, escaped", raw(strings.Replace(ec.json(), "{", `{"\u0078":"AAAA",`, 1)), "a name twice"},
		{"name twice inside", ec.with(claims{"z": raw(`{"a":1,"a":1}`)}), "a name twice"},
		{"not UTF-8", raw(strings.Replace(ec.json(), "{", "{\"z\":\"\xff\",", 1)), "not a JSON object"},

		{"secret", claims{"kty": "oct", "kid": "k", "k": encoded(secret...)}, "secret, in public"},
		{"oct without a secret", claims{"kty": "oct", "kid": "k"}, "kty is none"},
		{"no kty", ec.with(claims{"kty": absent}), "kty is none"},
		{"kty in another case", ec.with(claims{"kty": "ec"}), "kty is none"},
		{"kty a number", ec.with(claims{"kty": 7}), "kty is none"},
		{"kty of another kind", ec.with(claims{"kty": "RSA"}), "n is missing"},

		{"use sig", ec.with(claims{"use": "sig"}), ""},
		{"use enc", ec.with(claims{"use": "enc"}), "use is not sig"},
		{"use null", ec.with(claims{"use": nil}), "use is not sig"},
		{"key_ops verify", ec.with(claims{"key_ops": []string{"sign", "verify"}}), ""},
		{"key_ops encrypt", ec.with(claims{"key_ops": []string{"encrypt"}}), "key_ops is without verify"},
		{"key_ops none", ec.with(claims{"key_ops": []string{}}), "key_ops is without verify"},
		{"key_ops a text", ec.with(claims{"key_ops": "verify"}), "key_ops is without verify"},

		{"alg", ec.with(claims{"alg": "ES256"}), ""},
		{"alg of another key", ec.with(claims{"alg": "RS256"}), "RS256 wants an *rsa.PublicKey"},
		{"alg not the issuer's", rsaPub.with(claims{"alg": "PS256"}), "alg is none of Issuer.Algorithms"},
		{"alg of encryption", rsaPub.with(claims{"alg": "RSA-OAEP"}), "alg is none of Issuer.Algorithms"},
		{"alg null", ec.with(claims{"alg": nil}), "alg is none of Issuer.Algorithms"},
		{"alg none", ec.with(claims{"alg": "none"}), "alg is none of Issuer.Algorithms"},
		{"alg HS256", ec.with(claims{"alg": "HS256"}), "alg is none of Issuer.Algorithms"},

		{"kid empty", ec.with(claims{"kid": ""}), "kid"},
		{"kid a number", ec.with(claims{"kid": 7}), "kid"},
		{"kid null", ec.with(claims{"kid": nil}), "kid"},
		{"kid with a line break", ec.with(claims{"kid": "a\nb"}), "kid"},
		{"kid too long", ec.with(claims{"kid": strings.Repeat("k", 257)}), "kid"},
		{"issuer a number", ec.with(claims{"issuer": 7}), "issuer is not a text"},
		{"issuer empty", ec.with(claims{"issuer": ""}), "issuer is not a text"},

		{"RSA of 1024 bits", jwk("k", smallRSA, nil), "2048"},
		{"RSA without n", rsaPub.with(claims{"n": absent}), "n is missing"},
		{"RSA without e", rsaPub.with(claims{"e": absent}), "e is missing"},
		{"RSA n empty", rsaPub.with(claims{"n": ""}), "n is missing"},
		{"RSA n a number", rsaPub.with(claims{"n": 7}), "n is missing"},
		{"RSA even n", rsaPub.with(claims{"n": encoded(append(decoded(rsaPub["n"]), 0)...)}), "modulus or exponent"},
		{"RSA e of 1", rsaPub.with(claims{"e": encoded(1)}), "modulus or exponent"},
		{"RSA e even", rsaPub.with(claims{"e": encoded(1, 0, 0)}), "modulus or exponent"},
		{"RSA e of 32 bits", rsaPub.with(claims{"e": encoded(0x80, 0, 0, 1)}), "31 bits"},
		{"RSA e that wraps around", rsaPub.with(claims{"e": encoded(1, 0, 0, 0, 0, 0, 1, 0, 1)}), "31 bits"},
		{"RSA of 16392 bits", rsaPub.with(claims{"n": encoded(oddNumber...)}), "16384"},

		{"EC without y", ec.with(claims{"y": absent}), "y is missing"},
		{"EC without x", ec.with(claims{"x": absent}), "x is missing"},
		{"EC off its curve", ec.with(claims{"x": encoded(offCurve...)}), "no point on the curve"},
		{"EC of zeros", ec.with(claims{"x": encoded(zeros...), "y": encoded(zeros...)}), "no point on the curve"},
		{"EC x short", ec.with(claims{"x": encoded(x[1:]...)}), "length of the curve"},
		{"EC x long", ec.with(claims{"x": encoded(append([]byte{0}, x...)...)}), "length of the curve"},
		{"EC of another curve", ec.with(claims{"crv": "P-384"}), "length of the curve"},
		{"EC on P-224", jwk("k", ecKeyOn(elliptic.P224()), nil), "crv is none"},
		{"EC on secp256k1", ec.with(claims{"crv": "secp256k1"}), "crv is none"},
		{"EC without crv", ec.with(claims{"crv": absent}), "crv is none"},
		{"EC with padding", ec.with(claims{"x": ec["x"].(string) + "="}), "x is missing or not in base64url"},
		{"EC in base64", ec.with(claims{"x": strings.Repeat("+", 43)}), "x is missing or not in base64url"},
		{"EC with a line break", ec.with(claims{"x": ec["x"].(string) + "\n"}), "x is missing or not in base64url"},
		{"EC with bits left over", ec.with(claims{"x": strings.Repeat("A", 42) + "B"}), "x is missing or not in base64url"},

		{"OKP on X25519", ed.with(claims{"crv": "X25519"}), "crv is not Ed25519"},
		{"OKP on Ed448", ed.with(claims{"crv": "Ed448"}), "crv is not Ed25519"},
		{"OKP of 31 bytes", ed.with(claims{"x": encoded(decoded(ed["x"])[1:]...)}), "wants a key of 32 bytes"},
		{"OKP without x", ed.with(claims{"x": absent}), "x is missing"},
	} {
		t.Run(c.name, func(t *testing.T) { checkOne(t, c.key, c.skip) })
	}
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
		for kind, key := range map[string]claims{"RSA": rsaPub, "EC": ec, "OKP": ed} {
			t.Run(kind+" with "+name, func(t *testing.T) {
				for _, value := range []any{encoded(1), "", nil, []any{}} {
					checkOne(t, key.with(claims{name: value}), "private key")
				}
			})
		}
	}
}

// checkOne publishes key beside a good one and fails unless it is skipped for that reason, or not if that is "".
func checkOne(t *testing.T, key any, skip string) {
	t.Helper()
	p := publishing()
	p.serve(answering(`{"keys":[` + string(must(json.Marshal(key))) + `,` + jwk("good", ecKey(), nil).json() + `]}`))
	logger, lines := newLogger()
	r := newFetching(t, p, jwttenant.JWKSConfig{Logger: logger}, "ES256", "ES384", "ES512", "RS256", "EdDSA")
	checkReady(t, r.Ready(t.Context()), "")
	checkAnswer(t, r, request(es256("good", ecKey())), nil)
	want := tenant.IssuerKeyStats{Keys: 2, Fetches: 1}
	if skip != "" {
		want = tenant.IssuerKeyStats{Keys: 1, Skipped: 1, Fetches: 1}
		if line := lines.await(t, "are skipped"); !strings.Contains(line, skip) {
			t.Errorf("the log has %s, want %q in it", line, skip)
		}
	}
	got := r.Stats().Keys[0]
	if got.Issuer != issuerName || got.Fetched.IsZero() {
		t.Errorf("stats %+v, want those of %s and a time", got, issuerName)
	}
	got.Issuer, got.Fetched = "", want.Fetched
	if got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func TestJWK_EveryAlgorithm(t *testing.T) {
	for alg, key := range map[string]crypto.Signer{
		"RS256": rsaKey(), "RS384": rsaKey(), "RS512": rsaKey(), "PS256": rsaKey(), "PS384": rsaKey(), "PS512": rsaKey(),
		"ES256": ecKey(), "ES384": ecKeyOn(elliptic.P384()), "ES512": ecKeyOn(elliptic.P521()), "EdDSA": ed25519Key(),
		"Ed25519": ed25519Key(),
	} {
		for name, changes := range map[string]claims{"with alg": {"alg": alg}, "without": nil} {
			t.Run(alg+" "+name, func(t *testing.T) {
				r := newFetched(t, publishing(jwk("a", key, changes)), alg)
				good := signedBy("a", alg, key, nil)
				checkAnswer(t, r, request(good), nil)
				checkAnswer(t, r, request(good[:strings.LastIndexByte(good, '.')+1]+"AAAA"), tenant.ErrInvalid)
			})
		}
	}
}

// TestJWK_AlgLimitsTheKey: a key that says so is for one of the issuer's algorithms, and one that could be for two has to.
func TestJWK_AlgLimitsTheKey(t *testing.T) {
	p := publishing(jwk("rs", rsaKey(), claims{"alg": "RS256"}), jwk("ps", rsaKey(), claims{"alg": "PS256"}),
		jwk("any", rsaKey(), nil))
	r := newFetched(t, p, "RS256", "PS256")
	for _, c := range []struct {
		kid, alg string
		want     error
	}{
		{"rs", "RS256", nil}, {"ps", "PS256", nil}, {"rs", "PS256", tenant.ErrInvalid}, {"ps", "RS256", tenant.ErrInvalid},
		{"any", "RS256", tenant.ErrInvalid},
	} {
		checkAnswer(t, r, request(signedBy(c.kid, c.alg, rsaKey(), nil)), c.want)
	}
	if s := r.Stats().Keys[0]; s.Keys != 2 || s.Skipped != 1 {
		t.Errorf("stats %+v, want 2 keys and 1 skipped", s)
	}
}

func TestJWK_SeveralWithOneIDAreAllTried(t *testing.T) {
	var keys []claims
	var signers []crypto.Signer
	for range 5 {
		key := ecKeyOn(elliptic.P256())
		signers = append(signers, key)
		keys = append(keys, jwk("a", key, nil))
	}
	p := publishing(append(keys, jwk("a", rsaKey(), nil))...)
	r := newFetched(t, p, "ES256", "RS256")
	for n, signer := range signers[:4] {
		if _, err := r.Resolve(request(es256("a", signer))); err != nil {
			t.Errorf("key %d of one ID: %v", n, err)
		}
	}
	checkAnswer(t, r, request(es256("a", signers[4])), tenant.ErrInvalid) // one too many
	checkAnswer(t, r, request(es256("a", ecKey())), tenant.ErrInvalid)
	checkAnswer(t, r, request(signedBy("a", "RS256", rsaKey(), nil)), nil)
	if s := r.Stats().Keys[0]; s.Keys != 5 || s.Skipped != 1 {
		t.Errorf("stats %+v, want 5 keys and 1 skipped", s)
	}
}

func TestJWK_TokensAndKeysWithoutID(t *testing.T) {
	a, b := ecKeyOn(elliptic.P256()), ecKeyOn(elliptic.P256())
	for name, c := range map[string]struct {
		keys []claims
		of   crypto.Signer
		want error // for a token without kid
	}{
		"the only key":               {[]claims{jwk("a", a, nil)}, a, nil},
		"one of two":                 {[]claims{jwk("a", a, nil), jwk("b", b, nil)}, a, tenant.ErrInvalid},
		"the only key, without ID":   {[]claims{jwk("", a, nil)}, a, nil},
		"the one without ID":         {[]claims{jwk("a", a, nil), jwk("", b, nil)}, b, nil},
		"not the one without ID":     {[]claims{jwk("a", a, nil), jwk("", b, nil)}, a, tenant.ErrInvalid},
		"one of several without IDs": {[]claims{jwk("", a, nil), jwk("", b, nil)}, b, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := publishing(c.keys...)
			r := newFetched(t, p)
			for range 10 { // it is not for luck to say which key is tried
				checkAnswer(t, r, request(signedBy("", "ES256", c.of, nil)), c.want)
			}
			checkFetches(t, p, 1)
			checkAnswer(t, r, request(es256("made-up", c.of)), tenant.ErrInvalid)
		})
	}
}

// TestJWK_SignsForItsIssuerOnly: Microsoft publishes the keys of all directories in one document.
func TestJWK_SignsForItsIssuerOnly(t *testing.T) {
	const iss = "https://id.example.com/abc/v2"
	for name, c := range map[string]struct {
		issuer string
		want   error // of a token with that iss
	}{
		"the same":             {iss, nil},
		"another":              {"https://id.example.com/abc", tenant.ErrInvalid},
		"one part":             {"https://id.example.com/{tenantid}/v2", nil},
		"piece of a part":      {"https://id.example.com/a{tenantid}c/v2", nil},
		"last part":            {"https://id.example.com/abc/{tenantid}", nil},
		"two parts":            {"https://id.example.com/{tenantid}", tenant.ErrInvalid},
		"nothing":              {"https://id.example.com/abc/v2{tenantid}", tenant.ErrInvalid},
		"another end":          {"https://id.example.com/abc/{tenantid}v3", tenant.ErrInvalid},
		"another beginning":    {"http://id.example.com/{tenantid}/v2", tenant.ErrInvalid},
		"in another case":      {"https://id.example.com/{TenantID}/v2", tenant.ErrInvalid},
		"begin and end in one": {"https://id.example.com/abc{tenantid}c/v2", tenant.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			p := publishing(jwk("a", ecKey(), claims{"issuer": c.issuer}))
			i := keyIssuer(jwttenant.JWKS(keysURL, jwttenant.JWKSConfig{Transport: p}), "ES256")
			i.Issuer = iss
			r := newResolver(t, i)
			defer r.Close()
			checkAnswer(t, r, request(signedBy("a", "ES256", ecKey(), claims{"iss": iss})), c.want)
		})
	}
	t.Run("several of one ID", func(t *testing.T) {
		other := ecKeyOn(elliptic.P256())
		p := publishing(jwk("a", other, claims{"issuer": "https://x.example.com/"}),
			jwk("a", ecKey(), claims{"issuer": issuerName}))
		r := newFetched(t, p)
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
		checkAnswer(t, r, request(es256("a", other)), tenant.ErrInvalid)
	})
}
