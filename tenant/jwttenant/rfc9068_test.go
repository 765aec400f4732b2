package jwttenant_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// TestRFC9068 has a row for each requirement of the profile for access tokens, by section.
func TestRFC9068(t *testing.T) {
	issuer := keyIssuer(publicKey("k", rsaKey().Public()), "RS256")
	issuer.RFC9068 = true
	r := newResolver(t, issuer)
	payload := goodClaims().with(claims{"client_id": "web-client", "jti": "dbe39bf3a3ba4238a513f51d6e1691c4"})
	sign := func(header string, changes claims) string {
		return mint("RS256", rsaKey(), header, payload.with(changes).json())
	}
	const good = `{"alg":"RS256","typ":"at+jwt","kid":"k"}`
	unsigned := encoded([]byte(`{"alg":"none","typ":"at+jwt"}`)...) + "." + encoded([]byte(payload.json())...) + "."
	cases := []tokenCase{
		{"2.1 RS256", sign(good, nil), nil},
		{"2.1 typ with application/", sign(`{"alg":"RS256","typ":"application/at+jwt"}`, nil), nil},
		{"2.1 typ in another case", sign(`{"alg":"RS256","typ":"AT+JWT"}`, nil), nil},
		{"2.1 alg none", sign(`{"alg":"none","typ":"at+jwt"}`, nil), tenant.ErrInvalid},
		{"4 no typ", sign(`{"alg":"RS256"}`, nil), tenant.ErrInvalid},
		{"4 typ empty", sign(`{"alg":"RS256","typ":""}`, nil), tenant.ErrInvalid},
		{"4 typ JWT, as ID tokens have", sign(`{"alg":"RS256","typ":"JWT"}`, nil), tenant.ErrInvalid},
		{"4 typ of another tree", sign(`{"alg":"RS256","typ":"text/at+jwt"}`, nil), tenant.ErrInvalid},
		{"4 iss of another issuer", sign(good, claims{"iss": "https://id.example.com"}), tenant.ErrInvalid},
		{"4 aud of another service", sign(good, claims{"aud": "billing-api"}), tenant.ErrInvalid},
		{"4 a list without this service", sign(good, claims{"aud": []string{"billing-api"}}), tenant.ErrInvalid},
		{"4 a list with this service", sign(good, claims{"aud": []string{"billing-api", audience}}), nil},
		{"4 signature by another key", mint("RS256", smallRSA, good, payload.json()), tenant.ErrInvalid},
		{"4 signature of another algorithm", mint("PS256", rsaKey(), good, payload.json()), tenant.ErrInvalid},
		{"4 alg none", unsigned, tenant.ErrInvalid},
		{"4 encrypted, which has five parts", sign(good, nil) + ".AAAA.BBBB", tenant.ErrInvalid},
		{"4 expired", sign(good, claims{"exp": payload["iat"].(int64) - 60}), tenant.ErrInvalid},
		{"4 expired within the leeway", sign(good, claims{"exp": payload["iat"].(int64) - 10}), nil},
		{"2.2 client_id a number", sign(good, claims{"client_id": 7}), tenant.ErrInvalid},
		{"2.2 iat a text", sign(good, claims{"iat": "now"}), tenant.ErrInvalid},
	}
	for _, name := range []string{"iss", "exp", "aud", "sub", "client_id", "iat", "jti"} {
		cases = append(cases, tokenCase{"2.2 no " + name, sign(good, claims{name: absent}), tenant.ErrInvalid})
		cases = append(cases, tokenCase{"2.2 null for " + name, sign(good, claims{name: nil}), tenant.ErrInvalid})
	}
	for _, name := range []string{"sub", "client_id", "jti"} {
		cases = append(cases, tokenCase{"2.2 empty " + name, sign(good, claims{name: ""}), tenant.ErrInvalid})
	}
	checkTokens(t, r, cases)
}

// TestRFC9068_2_2_AudIsRequired: no other claim takes its place.
func TestRFC9068_2_2_AudIsRequired(t *testing.T) {
	issuer := hmacIssuer()
	issuer.RFC9068, issuer.AudienceClaim = true, "client_id"
	checkRefused(t, oneIssuer(issuer), "Issuers[0].AudienceClaim is set beside RFC9068")
}
