package jwttenant_test

import (
	"compress/flate"
	"crypto"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// TestRFC8725 has a row for each requirement of the best current practices that a token can break. Those on keys and
// settings are in TestRFC8725_Configuration.
func TestRFC8725(t *testing.T) {
	ec := func(header string, changes claims) string {
		return mint("ES256", ecKey(), header, goodClaims().with(changes).json())
	}
	const good = `{"alg":"ES256","kid":"k"}`
	header := func(more string) string { return strings.TrimSuffix(good, "}") + "," + more + "}" }
	unsigned := func(alg, signature string) string {
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(`{"alg":"`+alg+`","kid":"k"}`)) + "." + encode([]byte(goodClaims().json())) + "." + signature
	}
	altered := func(changes claims) string {
		parts := strings.Split(ec(good, nil), ".")
		parts[1] = strings.Split(ec(good, changes), ".")[1]
		return strings.Join(parts, ".")
	}
	cases := []tokenCase{
		{"a good token", ec(good, nil), nil},

		{"3.1 alg of another issuer's",
			mint("RS256", rsaKey(), `{"alg":"RS256","kid":"k"}`, goodClaims().json()), tenant.ErrInvalid},
		{"3.1 alg that is not how it was signed", ec(`{"alg":"ES384","kid":"k"}`, nil), tenant.ErrInvalid},
		{"3.1 no alg", ec(`{"kid":"k"}`, nil), tenant.ErrInvalid},
		{"3.1 alg null", ec(`{"alg":null,"kid":"k"}`, nil), tenant.ErrInvalid},
		{"3.1 alg a list", ec(`{"alg":["ES256"],"kid":"k"}`, nil), tenant.ErrInvalid},
		{"3.1 alg under a name of another case", ec(`{"Alg":"ES256","kid":"k"}`, nil), tenant.ErrInvalid},
		{"3.1 alg of the issuer's, key of another's", ec(`{"alg":"EdDSA","kid":"k"}`, nil), tenant.ErrInvalid},

		{"3.2 alg none", unsigned("none", ""), tenant.ErrInvalid},
		{"3.2 alg None", unsigned("None", ""), tenant.ErrInvalid},
		{"3.2 alg nOnE and some signature", unsigned("nOnE", "AAAA"), tenant.ErrInvalid},
		{"3.2 alg empty", unsigned("", ""), tenant.ErrInvalid},
		{"3.2 no signature", unsigned("ES256", ""), tenant.ErrInvalid},

		{"3.3 claims that were not signed", altered(claims{"tenant_id": "globex"}), tenant.ErrInvalid},
		{"3.3 header that was not signed",
			unsigned("ES256", strings.Split(ec(header(`"x":1`), nil), ".")[2]), tenant.ErrInvalid},
		{"3.3 extensions that must be understood", ec(header(`"crit":["exp"],"exp":1`), nil), tenant.ErrInvalid},
		{"3.3 an empty list of them", ec(header(`"crit":[]`), nil), tenant.ErrInvalid},
		{"3.3 claims that are not encoded", ec(header(`"crit":["b64"],"b64":false`), nil), tenant.ErrInvalid},
		{"3.3 a token in a token", mint("ES256", ecKey(), header(`"cty":"JWT"`), ec(good, nil)), tenant.ErrInvalid},

		{"3.6 an encrypted token", "eyJhbGciOiJSU0EtT0FFUCJ9.AAAA.BBBB.CCCC.DDDD", tenant.ErrInvalid},
		{"3.6 compressed claims",
			mint("ES256", ecKey(), header(`"zip":"DEF"`), deflated(goodClaims().json())), tenant.ErrInvalid},

		{"3.7 claims in another encoding", mint("ES256", ecKey(), good, beside("\"name\":\"M\xfcller\"")), tenant.ErrInvalid},
		{"3.7 header in another encoding", ec(header("\"x\":\"M\xfcller\""), nil), tenant.ErrInvalid},
		{"3.7 claims in UTF-16", mint("ES256", ecKey(), good, "\xff\xfe{\x00}\x00"), tenant.ErrInvalid},
		{"3.7 an overlong form", mint("ES256", ecKey(), good, beside("\"x\":\"\xc0\xaf\"")), tenant.ErrInvalid},

		{"3.8 no iss", ec(good, claims{"iss": absent}), tenant.ErrInvalid},
		{"3.8 iss null", ec(good, claims{"iss": nil}), tenant.ErrInvalid},
		{"3.8 iss a list", ec(good, claims{"iss": []string{issuerName}}), tenant.ErrInvalid},
		{"3.8 iss almost", ec(good, claims{"iss": strings.TrimSuffix(issuerName, "/")}), tenant.ErrInvalid},
		{"3.8 iss in another case", ec(good, claims{"iss": strings.ToUpper(issuerName)}), tenant.ErrInvalid},
		{"3.8 another issuer's iss", ec(good, claims{"iss": "https://other.example.com/"}), tenant.ErrInvalid},
		{"3.8 no sub", ec(good, claims{"sub": absent}), nil},
		{"3.8 sub a number", ec(good, claims{"sub": 7}), tenant.ErrInvalid},
		{"3.8 sub null", ec(good, claims{"sub": nil}), tenant.ErrInvalid},
		{"3.8 jti a number", ec(good, claims{"jti": 7}), tenant.ErrInvalid},

		{"3.9 aud a list", ec(good, claims{"aud": []string{"other", audience}}), nil},
		{"3.9 no aud", ec(good, claims{"aud": absent}), tenant.ErrInvalid},
		{"3.9 another service's aud", ec(good, claims{"aud": "billing-api"}), tenant.ErrInvalid},
		{"3.9 a list of others", ec(good, claims{"aud": []string{"billing-api", "orders"}}), tenant.ErrInvalid},
		{"3.9 an empty list", ec(good, claims{"aud": []string{}}), tenant.ErrInvalid},
		{"3.9 an empty text", ec(good, claims{"aud": ""}), tenant.ErrInvalid},
		{"3.9 a number", ec(good, claims{"aud": 7}), tenant.ErrInvalid},
		{"3.9 null", ec(good, claims{"aud": nil}), tenant.ErrInvalid},
		{"3.9 an object", ec(good, claims{"aud": claims{audience: true}}), tenant.ErrInvalid},
		{"3.9 a list with more than texts", ec(good, claims{"aud": []any{audience, 7}}), tenant.ErrInvalid},
		{"3.9 a list with aud first", ec(good, claims{"aud": []string{audience, "other"}}), nil},
		{"3.9 a list with null", ec(good, claims{"aud": []any{nil, audience}}), tenant.ErrInvalid},
		{"3.9 a list in a list", ec(good, claims{"aud": []any{[]string{audience}}}), tenant.ErrInvalid},
		{"3.9 aud in another case", ec(good, claims{"aud": "Orders-API"}), tenant.ErrInvalid},
		{"3.9 aud with more behind it", ec(good, claims{"aud": audience + " "}), tenant.ErrInvalid},

		{"3.11 typ of a JWT", ec(header(`"typ":"JWT"`), nil), nil},
		{"3.11 typ of a JWT in small letters", ec(header(`"typ":"jwt"`), nil), nil},
		{"3.11 typ of an access token", ec(header(`"typ":"at+jwt"`), nil), nil},
		{"3.11 the same with its tree", ec(header(`"typ":"application/AT+JWT"`), nil), nil},
		{"3.11 typ of a logout token", ec(header(`"typ":"logout+jwt"`), nil), tenant.ErrInvalid},
		{"3.11 typ of a security event", ec(header(`"typ":"secevent+jwt"`), nil), tenant.ErrInvalid},
		{"3.11 typ of a proof", ec(header(`"typ":"dpop+jwt"`), nil), tenant.ErrInvalid},
		{"3.11 typ a number", ec(header(`"typ":1`), nil), tenant.ErrInvalid},
		{"3.11 typ but a tree", ec(header(`"typ":"application/"`), nil), tenant.ErrInvalid},

		{"3.12 an ID token, whose aud is the client", ec(good, claims{"aud": "web-client", "nonce": "n"}), tenant.ErrInvalid},
	}
	checkTokens(t, newResolver(t, keyIssuer(jwttenant.PublicKeys(map[string]crypto.PublicKey{
		"k": ecKey().Public(), "ed": ed25519Key().Public(),
	}), "ES256", "EdDSA")), cases)
}

// TestRFC8725_3_1_PublishedKeyIsUsedWithItsAlgorithm: the issuer says which, and not the token.
func TestRFC8725_3_1_PublishedKeyIsUsedWithItsAlgorithm(t *testing.T) {
	p := publishing(jwk("k", rsaKey(), claims{"alg": "RS256"}))
	signed := func(alg, says string) string {
		return mint(alg, rsaKey(), `{"alg":"`+says+`","kid":"k"}`, goodClaims().json())
	}
	checkTokens(t, newFetching(t, p, jwttenant.JWKSConfig{}, "RS256", "PS256"), []tokenCase{
		{"its algorithm", signed("RS256", "RS256"), nil},
		{"another", signed("PS256", "PS256"), tenant.ErrInvalid},
		{"another in name", signed("RS256", "PS256"), tenant.ErrInvalid},
		{"another but for the name", signed("PS256", "RS256"), tenant.ErrInvalid},
	})
}

// TestRFC8725_3_10_KeyIDIsSanitized asks a key function, for which every ID would do.
func TestRFC8725_3_10_KeyIDIsSanitized(t *testing.T) {
	r := newResolver(t, keyIssuer(jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return secret, nil }), "HS256"))
	checkTokens(t, r, []tokenCase{
		{"none", tokenWithHeader(nil), nil},
		{"printable", tokenWithHeader(claims{"kid": "https://id.example.com/keys/2026 01~"}), nil},
		{"256 bytes", tokenWithHeader(claims{"kid": strings.Repeat("k", 256)}), nil},
		{"257 bytes", tokenWithHeader(claims{"kid": strings.Repeat("k", 257)}), tenant.ErrInvalid},
		{"empty", tokenWithHeader(claims{"kid": ""}), tenant.ErrInvalid},
		{"line break", tokenWithHeader(claims{"kid": "k\n"}), tenant.ErrInvalid},
		{"NUL", tokenWithHeader(claims{"kid": "k\x00"}), tenant.ErrInvalid},
		{"DEL", tokenWithHeader(claims{"kid": "k\x7f"}), tenant.ErrInvalid},
		{"not ASCII", tokenWithHeader(claims{"kid": "kéy"}), tenant.ErrInvalid},
		{"number", tokenWithHeader(claims{"kid": 1}), tenant.ErrInvalid},
		{"null", tokenWithHeader(claims{"kid": nil}), tenant.ErrInvalid},
		{"list", tokenWithHeader(claims{"kid": []string{"k"}}), tenant.ErrInvalid},
	})
}

// TestRFC8725_3_10_KeysInTheTokenAreIgnored: nothing is fetched either, for the resolver has nothing to fetch with.
func TestRFC8725_3_10_KeysInTheTokenAreIgnored(t *testing.T) {
	fetched := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched = true }))
	defer server.Close()
	r := newResolver(t, keyIssuer(publicKey("k", ecKey().Public()), "ES256"))
	attacker := ecKeyOn(ecKey().Curve)
	point := must(attacker.PublicKey.Bytes())[1:]
	encode := base64.RawURLEncoding.EncodeToString
	jwk := `{"kty":"EC","crv":"P-256","x":"` + encode(point[:32]) + `","y":"` + encode(point[32:]) + `"}`
	for _, more := range []string{
		`"jwk":` + jwk, `"jku":"` + server.URL + `"`, `"x5u":"` + server.URL + `"`, `"x5c":["AAAA"]`, `"x5t":"AAAA"`,
	} {
		header := `{"alg":"ES256","kid":"k",` + more + `}`
		checkTokens(t, r, []tokenCase{
			{"the token's key: " + more, mint("ES256", attacker, header, goodClaims().json()), tenant.ErrInvalid},
			{"the issuer's key: " + more, mint("ES256", ecKey(), header, goodClaims().json()), nil},
		})
	}
	if fetched {
		t.Error("an address in the header was fetched")
	}
}

func TestRFC8725_Configuration(t *testing.T) {
	long := []byte(strings.Repeat("0123456789abcdef", 4))
	for _, c := range []struct {
		name   string
		issuer jwttenant.Issuer
		want   string
	}{
		{"3.1 RSA key for two algorithms",
			keyIssuer(publicKey("a", rsaKey().Public()), "RS256", "PS256"), "one key for RS256 and PS256"},
		{"3.1 secret for two algorithms", keyIssuer(jwttenant.HMAC(long), "HS256", "HS512"), "one key for HS256 and HS512"},
		{"3.1 key function for two algorithms of one kind of key",
			keyIssuer(jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return nil, nil }), "RS256", "PS256"),
			"both RS256 and PS256"},
		{"3.1 no algorithm", keyIssuer(jwttenant.HMAC(long)), "Algorithms is empty"},
		{"3.1 algorithm in another case", keyIssuer(jwttenant.HMAC(long), "hs256"), "no algorithm"},
		{"3.1 HMAC beside another kind", keyIssuer(jwttenant.HMAC(long), "HS256", "RS256"), "HMAC beside other kinds"},
		{"3.2 none", keyIssuer(jwttenant.HMAC(long), "none"), "no algorithm"},
		{"3.2 RSA1_5", keyIssuer(publicKey("a", rsaKey().Public()), "RSA1_5"), "no algorithm"},
		{"3.4 point that is not on the curve", keyIssuer(publicKey("a", offCurve()), "ES256"), "a point on P-256"},
		{"3.5 password for a secret", keyIssuer(jwttenant.HMAC([]byte("correct horse")), "HS256"), "32 bytes or more, not 13"},
		{"3.8 no issuer", jwttenant.Issuer{}, "Issuers[0].Issuer is empty"},
		{"3.9 no audience", jwttenant.Issuer{}, "Issuers[0].Audience is empty"},
	} {
		t.Run(c.name, func(t *testing.T) { checkRefused(t, oneIssuer(c.issuer), c.want) })
	}
}

// TestRFC8725bis has what the successor of RFC 8725 (draft-ietf-oauth-rfc8725bis) adds, by its sections.
func TestRFC8725bis(t *testing.T) {
	good := token(nil)
	part := strings.Split(good, ".")
	encrypted := func(header string) string { return encoded([]byte(header)...) + ".AAAA.BBBB.CCCC.DDDD" }
	checkTokens(t, newResolver(t, hmacIssuer()), []tokenCase{
		{"3.1 alg in small letters", tokenWithHeader(claims{"alg": "hs256"}), tenant.ErrInvalid},
		{"3.1 alg in mixed case", tokenWithHeader(claims{"alg": "Hs256"}), tenant.ErrInvalid},
		{"3.1 alg with space", tokenWithHeader(claims{"alg": "HS256 "}), tenant.ErrInvalid},
		{"3.1 alg with a letter that is only like S", tokenWithHeader(claims{"alg": "H\u017f256"}), tenant.ErrInvalid},
		{"3.1 alg other than the key's", tokenWithHeader(claims{"alg": "HS384"}), tenant.ErrInvalid},
		{"3.2 alg none", encoded([]byte(`{"alg":"none"}`)...) + "." + part[1] + ".", tenant.ErrInvalid},
		{"3.2 alg none and some signature",
			encoded([]byte(`{"alg":"none"}`)...) + "." + part[1] + "." + part[2], tenant.ErrInvalid},
		{"3.2 alg RSA1_5", tokenWithHeader(claims{"alg": "RSA1_5"}), tenant.ErrInvalid},
		{"3.3 an encrypted token", encrypted(`{"alg":"dir","enc":"A256GCM"}`), tenant.ErrInvalid},
		{"3.3 an encrypted token that says it is signed", encrypted(`{"alg":"HS256","enc":"A256GCM"}`), tenant.ErrInvalid},
		{"3.3 a token in an encrypted one", encrypted(`{"alg":"dir","enc":"A256GCM","cty":"JWT"}`), tenant.ErrInvalid},
		{"3.3 five parts that begin with a signed token", good + ".AAAA.BBBB", tenant.ErrInvalid},
		{"3.3 a token in a token", signed(`{"alg":"HS256","cty":"JWT"}`, good), tenant.ErrInvalid},
		{"3.10 tenant claim that is an injection",
			token(claims{"tenant_id": "acme'; DROP TABLE tenants"}), tenant.ErrForbidden},
		{"3.10 tenant claim that is markup", token(claims{"tenant_id": "<script>"}), tenant.ErrForbidden},
		{"3.10 tenant claim that is a path", token(claims{"tenant_id": "../acme"}), tenant.ErrForbidden},
		{"3.11 typ without its tree", tokenWithHeader(claims{"typ": "at+jwt"}), nil},
		{"3.11 typ with its tree", tokenWithHeader(claims{"typ": "application/at+jwt"}), nil},
		{"3.11 typ with another tree", tokenWithHeader(claims{"typ": "audio/at+jwt"}), tenant.ErrInvalid},
		{"3.11 typ that is not the one expected", tokenWithHeader(claims{"typ": "secevent+jwt"}), tenant.ErrInvalid},
		{"3.13 PBES2 with a huge count",
			encrypted(`{"alg":"PBES2-HS256+A128KW","enc":"A256GCM","p2c":9999999999}`), tenant.ErrInvalid},
		{"3.13 the same in a signed token",
			tokenWithHeader(claims{"alg": "PBES2-HS256+A128KW", "p2c": 9999999999}), tenant.ErrInvalid},
		{"3.14 padding", good + "=", tenant.ErrInvalid},
		{"3.14 the other base64 alphabet", strings.Replace(good, ".", "+.", 1), tenant.ErrInvalid},
		{"3.14 a line break at the end", good + "\n", tenant.ErrInvalid},
		{"3.14 a line break inside of the signature", good[:len(good)-4] + "\r\n" + good[len(good)-4:], tenant.ErrInvalid},
		{"3.14 a NUL", good + "\x00", tenant.ErrInvalid},
		{"3.14 a quotation mark", good + `"`, tenant.ErrInvalid},
		{"3.14 a brace", good + "}", tenant.ErrInvalid},
		{"3.14 a signature spelt differently", respelt(good), tenant.ErrInvalid},
		{"3.14 two parts", good[:strings.LastIndexByte(good, '.')], tenant.ErrInvalid},
		{"3.14 four parts", good + ".AAAA", tenant.ErrInvalid},
		{"3.14 an empty header", good[strings.IndexByte(good, '.'):], tenant.ErrInvalid},
		{"3.14 nothing but dots", "..", tenant.ErrInvalid},
		{"3.14 the JSON serialization", `{"payload":"e30"}`, tenant.ErrInvalid},
		// Its signature is good, and who cuts it at its dots finds claims that nobody signed.
		{"3.14 the same with dots", `{"protected":"` + part[0] + `","x":".` + encoded([]byte(goodClaims().json())...) +
			`.","payload":"` + part[1] + `","signature":"` + part[2] + `"}`, tenant.ErrMalformed}, // by its commas
		{"3.15 compressed claims", signed(`{"alg":"HS256","zip":"DEF"}`, deflated(goodClaims().json())), tenant.ErrInvalid},
		{"3.15 compressed claims, encrypted", encrypted(`{"alg":"dir","enc":"A256GCM","zip":"DEF"}`), tenant.ErrInvalid},
	})
	typed := hmacIssuer()
	typed.RFC9068 = true
	profile := goodClaims().with(claims{"client_id": "web", "jti": "7"}).json()
	checkTokens(t, newResolver(t, typed), []tokenCase{
		{"3.11 explicit typ where it is asked for", signed(`{"alg":"HS256","typ":"at+jwt"}`, profile), nil},
		{"3.11 JWT is no explicit typ", signed(`{"alg":"HS256","typ":"JWT"}`, profile), tenant.ErrInvalid},
		{"3.11 JWT with its tree is none", signed(`{"alg":"HS256","typ":"application/jwt"}`, profile), tenant.ErrInvalid},
	})
	named := func(alg string) string {
		return mint("Ed25519", ed25519Key(), `{"alg":"`+alg+`"}`, goodClaims().json())
	}
	checkTokens(t, newResolver(t, keyIssuer(publicKey("k", ed25519Key().Public()), "Ed25519")), []tokenCase{
		{"3.2 Ed25519 by its full name", named("Ed25519"), nil},
		{"3.2 Ed25519 by the name of a family", named("EdDSA"), tenant.ErrInvalid},
	})
}

func deflated(text string) string {
	var out strings.Builder
	w := must(flate.NewWriter(&out, flate.BestCompression))
	must(w.Write([]byte(text)))
	w.Close()
	return out.String()
}
