package jwttenant_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/tenant"
)

// signed returns a token of hmacIssuer's with exactly this header and these claims.
func signed(header, payload string) string { return mint("HS256", secret, header, payload) }

// beside returns good claims as JSON, and more of them.
func beside(more string) string {
	return strings.TrimSuffix(goodClaims().json(), "}") + "," + more + "}"
}

func TestResolve_JSONThatReadersDisagreeAboutIsRefused(t *testing.T) {
	const header = `{"alg":"HS256"}`
	nested := func(open, inside, end string, depth int) string {
		return `"deep":` + strings.Repeat(open, depth) + inside + strings.Repeat(end, depth)
	}
	manyNames := func(last string) string {
		var names strings.Builder
		for i := range 100 {
			names.WriteString(`"n` + strconv.Itoa(i) + `":1,`)
		}
		return `"many":{` + names.String() + last + `}`
	}
	var cases []tokenCase
	claims := func(name, payload string, want error) {
		cases = append(cases, tokenCase{name, signed(header, payload), want})
	}
	claims("plain", beside(`"a":1`), nil)
	claims("space everywhere", strings.ReplaceAll(beside(`"a": [ 1 , { "b" : 2 } , [ ] , { } ]`), ",", " ,\r\n\t"), nil)
	claims("space around", " \n"+goodClaims().json()+"\t ", nil)
	claims("all kinds of values",
		beside(`"a":[true,false,null,-0.5e-3,"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀",{"a":{}}]`), nil)
	claims("same name in different objects", beside(`"x":{"a":1,"b":{"a":1}},"a":[{"a":1},{"a":1}]`), nil)
	claims("a name twice", beside(`"tenant_id":"evil"`), tenant.ErrInvalid)
	claims("a name twice, the same value", beside(`"iss":"`+issuerName+`"`), tenant.ErrInvalid)
	claims("a name twice, once escaped", beside(`"tenant\u005fid":"evil"`), tenant.ErrInvalid)
	claims("a name twice, deep inside", beside(`"a":[1,{"b":{"c":1,"d":2,"c":3}}]`), tenant.ErrInvalid)
	claims("an empty name twice", beside(`"":1,"":2`), tenant.ErrInvalid)
	claims("many names", beside(manyNames(`"last":1`)), nil)
	claims("many names and the first one again", beside(manyNames(`"n0":1`)), tenant.ErrInvalid)
	claims("many names and the last one again", beside(manyNames(`"n99":1`)), tenant.ErrInvalid)
	claims("deep objects", beside(nested(`{"a":`, "1", "}", 30)), nil)
	claims("too deep objects", beside(nested(`{"a":`, "1", "}", 32)), tenant.ErrInvalid)
	claims("deep lists", beside(nested(`[`, "1", "]", 30)), nil)
	claims("too deep lists", beside(nested(`[`, "1", "]", 32)), tenant.ErrInvalid)
	claims("lists as deep as a token is long", beside(nested(`[`, "", "]", 2000)), tenant.ErrInvalid)
	for _, bad := range []string{
		`"a":`, `"a"`, `"a":1,`, `,"a":1`, `"a":1 "b":2`, `a:1`, `'a':1`, `1:1`, `"a":01`, `"a":+1`, `"a":1.`, `"a":.5`,
		`"a":1e`,
		`"a":1e+`, `"a":-`, `"a":--1`, `"a":0x1`, `"a":NaN`, `"a":Infinity`, `"a":1e999`, `"a":True`, `"a":nul`, `"a":nulll`,
		`"a":"`, `"a":"\x"`, `"a":"\u12"`, `"a":"\u12g4"`, `"a":"\u+123"`, "\"a\":\"\n\"", "\"a\":\"\x00\"",
		`"a":[1,]`, `"a":[,1]`,
		`"a":[1 2]`, `"a":[1`, `"a":{"b":1,}`, `"a":{"b"}`, `"a":]`, `"a":// comment` + "\n1", `"a":/**/1`, `"a":1}{"b":2`,
	} {
		claims("not JSON: "+bad, beside(bad), tenant.ErrInvalid)
	}
	for _, not := range []string{
		``, ` `, `null`, `[]`, `"a"`, `1`, `{`, `}`, "\ufeff" + goodClaims().json(), goodClaims().json() + "x",
	} {
		claims("not an object: "+not, not, tenant.ErrInvalid)
		cases = append(cases, tokenCase{"header not an object: " + not, signed(not, goodClaims().json()), tenant.ErrInvalid})
	}
	for _, half := range []string{
		`\ud83d`, `\ude00`, `\ud83dx`, `\ud83d\n`, `\ud83d\ud83d`, `\ude00\ud83d`, `\ud83d\u0041`, `\ud83d\`,
	} {
		claims("half a surrogate pair: "+half, beside(`"a":"`+half+`"`), tenant.ErrInvalid)
		claims("half a surrogate pair in a name: "+half, beside(`"`+half+`":1`), tenant.ErrInvalid)
	}
	checkTokens(t, newResolver(t, hmacIssuer()), cases)
}

// anyJSON draws a value as encoding/json would decode it. Numbers that are next to 0 are in no token.
func anyJSON(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Float64().Filter(func(f float64) bool { return f == 0 || math.Abs(f) >= 1e-99 }).AsAny(),
		rapid.String().AsAny(),
	}
	if depth > 0 {
		inside := anyJSON(depth - 1)
		kinds = append(kinds, rapid.SliceOfN(inside, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), inside, 0, 20).AsAny())
	}
	return rapid.OneOf(kinds...)
}

// TestResolve_AnyClaimsThatJSONCanSay: whatever encoding/json writes is accepted and handed on as it was, and the tenant
// is the one at its path, whatever the names are and whatever is around it.
func TestResolve_AnyClaimsThatJSONCanSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SliceOfN(rapid.StringN(1, 10, -1), 1, 4).Draw(t, "path")
		var inside any = "globex"
		for i := len(path) - 1; i > 0; i-- {
			around := rapid.MapOfN(rapid.String(), anyJSON(1), 0, 3).Draw(t, "around")
			around[path[i]] = inside
			inside = around
		}
		all := rapid.MapOfN(rapid.String(), anyJSON(2), 0, 20).Draw(t, "claims")
		all[path[0]] = inside
		payload := claims(all).with(goodClaims()).with(claims{path[0]: inside}).json()
		if len(payload) > 5000 {
			return // longer than a token may be
		}
		issuer := hmacIssuer()
		issuer.TenantClaim = path
		got, err := newResolver(t, issuer).Resolve(request(signed(`{"alg":"HS256"}`, payload)))
		if err != nil || got.ID != "globex" {
			t.Fatalf("path %q in %s: tenant %v, error %v", path, payload, got, err)
		}
		var want, decoded any
		if err := json.Unmarshal([]byte(payload), &want); err != nil {
			t.Fatal(err)
		}
		if err := got.DecodeClaims(&decoded); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, decoded); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	})
}

// TestResolve_NumbersThatTakeLongToReadAreRefused: a token full of them took longer than a hundred verifications.
func TestResolve_NumbersThatTakeLongToReadAreRefused(t *testing.T) {
	var cases []tokenCase
	add := func(want error, numbers ...string) {
		for _, n := range numbers {
			cases = append(cases, tokenCase{n, signed(`{"alg":"HS256"}`, beside(`"a":[`+n+`]`)), want})
		}
	}
	add(nil, "0", "-0", "17", "1e308", "1.7976931348623157e+308", "-1E308", "1e-99", "1e-099", "0e999", "-0.5e-99", "0.00001e308",
		strings.Repeat("9", 64), "0."+strings.Repeat("3", 62), strings.Repeat("1", 60)+"e248")
	add(tenant.ErrInvalid, "1e309", "1.8e308", "-1e309", "10e308", "1e0400", "1e-100", "-1e-323", "0e-100", "1e1000",
		strings.Repeat("9", 65), "0."+strings.Repeat("3", 63), strings.Repeat("2", 60)+"e249")
	checkTokens(t, newResolver(t, hmacIssuer()), cases)
}
