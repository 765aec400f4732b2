package jwttenant_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// TestRFC7519 has a row for each rule on claims and on how a token is read, by section.
func TestRFC7519(t *testing.T) {
	const header = `{"alg":"HS256"}`
	now := time.Now().Unix()
	good := token(nil)
	part := strings.Split(good, ".")
	// A header in any spelling, signed as it is.
	withHeader := func(spelling string) string { return signedAs(spelling + "." + part[1]) }
	otherAlphabet := base64.RawStdEncoding.EncodeToString([]byte(`{"alg":"HS256","x":"???>>>"}`)) // has + and /
	cases := []tokenCase{
		{"2 a fraction of a second", token(claims{"exp": float64(now) + 60.5}), nil},
		{"2 a time in words", token(claims{"exp": time.Now().Add(time.Hour).Format(time.RFC3339)}), tenant.ErrInvalid},
		{"2 a time in quotation marks", token(claims{"nbf": "1"}), tenant.ErrInvalid},

		{"4 claims that nobody knows", token(claims{"https://x.example.com/": claims{"a": 1}, "b": nil}), nil},
		{"4 a claim twice", signed(header, beside(`"sub":"user-7"`)), tenant.ErrInvalid},
		{"4 a claim twice, once escaped", signed(header, beside(`"\u0073ub":"user-7"`)), tenant.ErrInvalid},
		{"4.1.1 iss of a stranger", token(claims{"iss": "https://evil.example/"}), tenant.ErrInvalid},
		{"4.1.3 aud without this service", token(claims{"aud": []string{"a", "b"}}), tenant.ErrInvalid},
		{"4.1.3 aud in another case", token(claims{"aud": strings.ToUpper(audience)}), tenant.ErrInvalid},
		{"4.1.4 exp that has passed", token(claims{"exp": now - 31}), tenant.ErrInvalid},
		{"4.1.4 exp that has passed within the leeway", token(claims{"exp": now - 5}), nil},
		{"4.1.5 nbf to come", token(claims{"nbf": now + 90}), tenant.ErrInvalid},
		{"4.1.5 nbf to come within the leeway", token(claims{"nbf": now + 20}), nil},
		{"4.1.6 iat null", token(claims{"iat": nil}), tenant.ErrInvalid},
		{"4.1.7 jti a list", token(claims{"jti": []string{"a"}}), tenant.ErrInvalid},

		{"5.1 typ in any case", tokenWithHeader(claims{"typ": "jWt"}), nil},
		{"5.2 a token in a token", signed(`{"alg":"HS256","cty":"JWT"}`, good), tenant.ErrInvalid},
		{"5.2 a token in a token, as a text", signed(`{"alg":"HS256","cty":"JWT"}`, `"`+good+`"`), tenant.ErrInvalid},
		{"5.2 a token in a token, by its dots", good + "." + good, tenant.ErrInvalid},
		{"5.2 claims that say they are a token", tokenWithHeader(claims{"cty": "jwt"}), tenant.ErrInvalid},
		{"5.3 a claim in the header only",
			signed(`{"alg":"HS256","iss":"`+issuerName+`"}`, goodClaims().with(claims{"iss": absent}).json()), tenant.ErrInvalid},
		{"5.3 another claim in the header", tokenWithHeader(claims{"iss": "https://evil.example/", "aud": "other"}), nil},
		{"6 unsecured", encoded([]byte(`{"alg":"none"}`)...) + "." + part[1] + ".", tenant.ErrInvalid},

		{"7.2 no period", part[0], tenant.ErrInvalid},
		{"7.2 header as it should be", withHeader(part[0]), nil},
		{"7.2 header with a line break", withHeader(part[0][:8] + "\n" + part[0][8:]), tenant.ErrInvalid},
		{"7.2 header with padding", withHeader(encoded([]byte(`{"alg":"HS256" }`)...) + "=="), tenant.ErrInvalid},
		{"7.2 header with bits left over", withHeader(respelt(encoded([]byte(`{"alg":"HS256" }`)...))), tenant.ErrInvalid},
		{"7.2 header in the other alphabet", withHeader(otherAlphabet), tenant.ErrInvalid},
		{"7.2 header not encoded", withHeader(`{"alg":"HS256"}`), tenant.ErrInvalid},
		{"7.2 header not UTF-8", signed("{\"alg\":\"HS256\",\"x\":\"\xff\"}", goodClaims().json()), tenant.ErrInvalid},
		{"7.2 header a list", signed(`[{"alg":"HS256"}]`, goodClaims().json()), tenant.ErrInvalid},
		{"7.2 header parameters that nobody knows", tokenWithHeader(claims{"x": 1, "cty": "example"}), nil},
		{"7.2 claims a list", signed(header, "["+goodClaims().json()+"]"), tenant.ErrInvalid},
		{"7.2 claims with more behind them", signed(header, goodClaims().json()+"{}"), tenant.ErrInvalid},
		{"7.2 no claims", signed(header, ""), tenant.ErrInvalid},

		{"7.3 iss with escapes",
			signed(header, strings.Replace(goodClaims().json(), "https://id", `https:\/\/\u0069d`, 1)), nil},
	}
	checkTokens(t, newResolver(t, hmacIssuer()), cases)

	composed, decomposed := "caf\u00e9", "cafe\u0301"
	issuer := hmacIssuer()
	issuer.Audience = composed
	checkTokens(t, newResolver(t, issuer), []tokenCase{
		{"7.3 the same characters", token(claims{"aud": composed}), nil},
		{"7.3 characters that look the same", token(claims{"aud": decomposed}), tenant.ErrInvalid},
	})
}
