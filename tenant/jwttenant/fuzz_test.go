package jwttenant_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// lasting are good claims for as long as a corpus is kept.
func lasting() claims { return goodClaims().with(claims{"iat": 1_700_000_000, "exp": 4_102_444_800}) }

// checkAgainstModel fails if the resolver accepts a token that package jwt, as strict as it goes, does not, or if the
// claims mean something else to encoding/json.
func checkAgainstModel(t *testing.T, r *jwttenant.Resolver, credential string) {
	got, err := r.Resolve(request(credential))
	if err != nil {
		checkFuzzedError(t, credential, err)
		return
	}
	model := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithIssuer(issuerName), jwt.WithAudience(audience), jwt.WithLeeway(30*time.Second), jwt.WithStrictDecoding())
	token := strings.Trim(credential, " \t") // as HTTP has it of a header (RFC 9110, 5.5)
	parsed, err := model.Parse(token, func(*jwt.Token) (any, error) { return secret, nil })
	if err != nil {
		t.Fatalf("accepted, but package jwt refuses %s: %v", credential, err)
	}
	all := parsed.Claims.(jwt.MapClaims)
	if all["tenant_id"] != got.ID || !tenant.ValidID(got.ID) {
		t.Errorf("tenant %q, but package jwt reads %v", got.ID, all["tenant_id"])
	}
	if sub, _ := all["sub"].(string); sub != got.Subject {
		t.Errorf("subject %q, but package jwt reads %v", got.Subject, all["sub"])
	}
	if tier, _ := all["plan"].(string); got.Tier != "" && got.Tier != tier {
		t.Errorf("tier %q, but package jwt reads %v", got.Tier, all["plan"])
	}
	var decoded jwt.MapClaims
	if err := got.DecodeClaims(&decoded); err != nil {
		t.Fatalf("claims %q cannot be decoded: %v", got.Claims, err)
	}
	if diff := cmp.Diff(all, decoded); diff != "" {
		t.Errorf("claims (-package jwt +ours):\n%s", diff)
	}
}

func checkFuzzedError(t *testing.T, credential string, err error) {
	if errors.Is(err, tenant.ErrNoCredential) || errors.Is(err, tenant.ErrUnavailable) {
		t.Errorf("a token that is there gives %v", err)
	}
	for part := range strings.SplitSeq(credential, ".") {
		if len(part) > 20 && strings.Contains(err.Error(), part) {
			t.Errorf("the error %q shows the token", err)
		}
	}
}

// FuzzToken has the bytes of a token, as strangers send them. None but the seeds is ever signed.
func FuzzToken(f *testing.F) {
	r := newResolver(f, hmacIssuer())
	good := mint("HS256", secret, `{"alg":"HS256"}`, lasting().json())
	for _, seed := range []string{
		good, good + "=", good + "\n", good + "\t", good + ".", strings.ToLower(good), "..", "a.b.c", "e30.e30.AAAA",
		mint("HS256", secret, `{"alg":"none"}`, lasting().json()),
		mint("HS256", secret, `{"alg":"HS256"}`, lasting().with(claims{"tenant_id": nil}).json()),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, credential string) { checkAgainstModel(t, r, credential) })
}

// FuzzSigned has header and claims of tokens that are always well signed, so that all rules behind the signature are
// reached too.
func FuzzSigned(f *testing.F) {
	r := newResolver(f, hmacIssuer())
	for _, header := range []string{
		`{"alg":"HS256"}`, `{"alg":"HS256","kid":"a","typ":"at+jwt"}`, `{"alg":"HS256","crit":[]}`,
	} {
		f.Add(header, lasting().json())
		for _, changes := range []claims{
			{"aud": []string{"x", audience}}, {"exp": raw("4102444800.5")}, {"exp": raw("4.1e9")}, {"nbf": 0},
			{"iat": raw("1e300")},
			{"x": raw(`{"a":[1,{"b":"\u00e9\ud83d\ude00"}],"":null}`)}, {"plan": 7}, {"tenant_id": raw(`"\u0061cme"`)},
			{"sub": raw(`"\ud800"`)}, {"aud": []any{audience, nil}},
		} {
			f.Add(header, lasting().with(changes).json())
		}
	}
	f.Add(`{"alg":"HS256","x":1e999}`, strings.Replace(lasting().json(), `{`, `{"\u0069ss":"x",`, 1))
	f.Fuzz(func(t *testing.T, header, payload string) {
		checkAgainstModel(t, r, mint("HS256", secret, header, payload))
	})
}

// FuzzClaims checks that no claims are refused for their form alone: a well-formed extra claim never matters.
func FuzzClaims(f *testing.F) {
	r := newResolver(f, hmacIssuer())
	for _, seed := range []string{
		`1`, `{}`, `[[],{"a":-0.1E+2}]`, `"\\\"\u1234"`, `null`, `{"a":{"a":{"a":true}}}`, `1e308`, `"é"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var v any
		if len(value) > 2000 || json.Unmarshal([]byte(value), &v) != nil {
			return // no claim
		}
		canonical := must(json.Marshal(v)) // without what readers disagree about
		if strings.Count(string(canonical), "[")+strings.Count(string(canonical), "{") >= 30 || len(canonical) > 4000 {
			return // refused for its size or depth
		}
		payload := lasting().with(claims{"extra": raw(canonical)}).json()
		if _, err := r.Resolve(request(mint("HS256", secret, `{"alg":"HS256"}`, payload))); err != nil {
			t.Errorf("%s: %v", payload, err)
		}
	})
}

// FuzzAuthorization has the whole header.
func FuzzAuthorization(f *testing.F) {
	r := newResolver(f, hmacIssuer())
	good := mint("HS256", secret, `{"alg":"HS256"}`, lasting().json())
	for _, seed := range []string{
		"Bearer " + good, "bearer  " + good, "Bearer", "Bearer a, Bearer b", "Basic x", "", " ", "Bearer\t" + good,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		req := request("")
		req.Header["Authorization"] = []string{header}
		got, err := r.Resolve(req)
		switch bearer := len(header) >= 7 && strings.EqualFold(header[:7], "bearer "); {
		case err == nil && (got.ID != "acme" || !strings.Contains(header, good)):
			t.Errorf("%q gives tenant %v", header, got)
		case bearer && errors.Is(err, tenant.ErrNoCredential):
			t.Errorf("%q counts as no credential", header)
		}
	})
}
