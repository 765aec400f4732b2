package jwttenant_test

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

// spellings returns b in the forms in which a printer might show it.
func spellings(b []byte) []string {
	decimal := strings.Trim(fmt.Sprint(b), "[]")
	return []string{
		string(b), hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)), decimal,
		strings.ReplaceAll(decimal, " ", ","), strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", b), "[]byte{"), "}"),
		strings.TrimRight(base64.StdEncoding.EncodeToString(b), "="),
	}
}

// printed returns v as everything prints it that logs are written with.
func printed(t *testing.T, v any) string {
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&out, verb+"\n", v)
		fmt.Fprintf(&out, verb+"\n", struct{ hidden any }{v})
		fmt.Fprintf(&out, verb+"\n", []any{v})
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v)
	if b, err := json.Marshal(v); err == nil {
		out.Write(b)
	}
	return out.String()
}

func TestPrinting_ShowsNoSecret(t *testing.T) {
	const fewBytes = 12
	short := []byte("only-short-secret")
	_, errShort := jwttenant.New(oneIssuer(keyIssuer(jwttenant.HMAC(short), "HS256")))
	_, errPublic := jwttenant.New(oneIssuer(keyIssuer(publicKey("a", short), "ES256")))
	issuer := hmacIssuer()
	r := newResolver(t, issuer)
	checkAnswer(t, r, request(token(nil)), nil)
	for name, v := range map[string]any{
		"KeySource":         issuer.Keys,
		"key ring":          jwttenant.PublicKeys(map[string]crypto.PublicKey{"a": secret}),
		"key function":      jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return secret, nil }),
		"Issuer":            issuer,
		"pointer to Issuer": &issuer,
		"Config":            oneIssuer(issuer),
		"Resolver":          r,
		"Stats":             r.Stats(),
		"error of a secret": errShort,
		"error of a key":    errPublic,
		"issuer of jwttest": jwttest.New(issuer),
		"config of jwttest": jwttest.New(issuer).Config(),
		"made-up issuer":    jwttest.New(jwttenant.Issuer{}).Config(),
	} {
		text := printed(t, v)
		for _, key := range [][]byte{secret, short} {
			for _, shown := range spellings(key[:fewBytes]) {
				if strings.Contains(text, shown) {
					t.Errorf("%s is printed with the secret, as %q", name, shown)
				}
			}
		}
	}
}

func TestRefusal_ShowsNothingOfTheToken(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	for name, credential := range map[string]string{
		"no tenant":       token(claims{"tenant_id": "needle../needle", "sub": "needle", "plan": "needle"}),
		"another issuer":  token(claims{"iss": "needle", "aud": "needle"}),
		"wrong signature": token(claims{"sub": "needle"}) + "AAAA",
		"header":          tokenWithHeader(claims{"alg": "needle", "kid": "needle", "typ": "needle", "needle": "needle"}),
		"crit":            tokenWithHeader(claims{"crit": []string{"needle"}}),
		"no JSON":         signed(`{"alg":"HS256"}`, `{"needle":needle}`),
		"name twice":      signed(`{"alg":"HS256"}`, beside(`"needle":"needle","needle":"needle"`)),
		"no token":        "needle",
	} {
		_, err := r.Resolve(request(credential))
		if err == nil {
			t.Fatalf("%s: accepted", name)
		}
		text := printed(t, err)
		for part := range strings.SplitSeq(credential, ".") {
			if strings.Contains(text, "needle") || strings.Contains(text, part) {
				t.Errorf("%s: the error shows the token: %v", name, err)
			}
		}
	}
	got := checkAnswer(t, r, request(token(nil)), nil)
	if text := printed(t, got.String()) + fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "user-7") {
		t.Errorf("the tenant is printed with its claims: %s", text)
	}
}

// TestResolve_BadTokensLookTheSame: the client's answer depends on the sentinel only, and that is one for all of these.
func TestResolve_BadTokensLookTheSame(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	expired := token(claims{"exp": 1})
	for _, bad := range []string{
		expired, expired + "AAAA", token(claims{"aud": "other"}), token(claims{"iss": "other"}), token(nil) + "AAAA", "abc",
		strings.Repeat("a", 10_000),
	} {
		checkAnswer(t, r, request(bad), tenant.ErrInvalid)
	}
}
