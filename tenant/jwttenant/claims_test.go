package jwttenant_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func TestResolve_GoodTokenGivesTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issued := time.Now()
		payload := goodClaims().json()
		r := newResolver(t, hmacIssuer())
		got := checkAnswer(t, r, request(mint("HS256", secret, `{"alg":"HS256"}`, payload)), nil)
		want := tenant.Tenant{ID: "acme", Tier: "pro", TierAsOf: issued, Subject: "user-7", Claims: payload}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tenant (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(tenant.ResolverStats{Accepted: 1, Verified: 1, Remembered: 1}, r.Stats()); diff != "" {
			t.Errorf("Stats (-want +got):\n%s", diff)
		}
	})
}

func TestResolve_Times(t *testing.T) {
	now := time.Now().Unix()
	after := func(seconds int64) int64 { return now + seconds }
	var cases []tokenCase
	add := func(name string, want error, changes claims) {
		cases = append(cases, tokenCase{name, token(changes), want})
	}

	add("exp passed, within leeway", nil, claims{"exp": after(-20)})
	add("exp passed", tenant.ErrInvalid, claims{"exp": after(-40)})
	add("exp missing", tenant.ErrInvalid, claims{"exp": absent})
	add("exp 0", tenant.ErrInvalid, claims{"exp": 0})
	add("exp in the year 10000", tenant.ErrInvalid, claims{"exp": 253_402_300_800})
	add("exp in the year 9999", nil, claims{"exp": 253_402_300_799})
	add("exp with a fraction", nil, claims{"exp": raw("4102444800.75")})
	add("exp with an exponent", nil, claims{"exp": raw("4.1024448E+9")})
	for _, name := range []string{"nbf", "iat"} {
		add(name+" 20 s ahead", nil, claims{name: after(20)})
		add(name+" 40 s ahead", tenant.ErrInvalid, claims{name: after(40)})
		add(name+" 120 s ahead", tenant.ErrInvalid, claims{name: after(120)})
		add(name+" missing", nil, claims{name: absent})
		add(name+" 0", nil, claims{name: 0})
	}
	for _, name := range []string{"exp", "nbf", "iat"} {
		for _, value := range []string{
			"null", `"9e9"`, `"4102444800"`, "1e300", "1e999", "-1", "-4102444800", "true", "{}", "[]", "[4102444800]", `""`,
		} {
			add(name+" "+value, tenant.ErrInvalid, claims{name: raw(value)})
		}
	}
	checkTokens(t, newResolver(t, hmacIssuer()), cases)
}

func TestResolve_TokenEndsLeewayAfterExpiry(t *testing.T) {
	for name, c := range map[string]struct{ leeway, effective time.Duration }{
		"default":  {0, 30 * time.Second},
		"a minute": {time.Minute, time.Minute},
		"as none":  {time.Nanosecond, time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{hmacIssuer()}, Leeway: c.leeway})
				if err != nil {
					t.Fatal(err)
				}
				req := request(token(claims{"exp": time.Now().Add(time.Hour).Unix()}))
				time.Sleep(time.Hour + c.effective - time.Nanosecond)
				checkAnswer(t, r, req, nil)
				time.Sleep(time.Nanosecond)
				checkAnswer(t, r, req, tenant.ErrInvalid)
			})
		})
	}
}

func TestResolve_TokenBeginsLeewayBeforeNotBefore(t *testing.T) {
	for _, name := range []string{"nbf", "iat"} {
		synctest.Test(t, func(t *testing.T) {
			r := newResolver(t, hmacIssuer())
			req := request(token(claims{name: time.Now().Add(time.Minute).Unix()}))
			time.Sleep(30*time.Second - time.Nanosecond)
			checkAnswer(t, r, req, tenant.ErrInvalid)
			time.Sleep(time.Nanosecond)
			checkAnswer(t, r, req, nil)
		})
	}
}

func TestResolve_TenantClaimThatNamesNoTenantIsForbidden(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	for _, value := range []string{
		`null`, `""`, `true`, `7`, `{}`, `[]`, `["acme"]`, `{"tenant_id":"acme"}`,
		`"` + strings.Repeat("a", 129) + `"`, `"../x"`, `"a/b"`, `"a\nb"`, `"a\u0000b"`, `"acme "`, `" acme"`, `"a b"`,
		`"acme\u202e"`, `"acm\u0435"`, `"аcme"`, `"_anonymous"`, `"__other__"`, `".acme"`, `"-acme"`, `"a:b"`, `"a{b}"`,
	} {
		t.Run(value, func(t *testing.T) {
			req := request(token(claims{"tenant_id": raw(value)}))
			checkAnswer(t, r, req, tenant.ErrForbidden)
			if _, err := r.Resolve(req); len(value) > 4 && strings.Contains(err.Error(), strings.Trim(value, `"`)) {
				t.Errorf("the error %q echoes the claim", err)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		checkAnswer(t, r, request(token(claims{"tenant_id": absent})), tenant.ErrForbidden)
	})
	t.Run("in another case", func(t *testing.T) {
		checkAnswer(t, r, request(token(claims{"tenant_id": absent, "Tenant_ID": "acme"})), tenant.ErrForbidden)
	})
}

func TestResolve_ClaimIsFoundByItsPath(t *testing.T) {
	for _, c := range []struct {
		name    string
		path    []string
		changes claims
		want    string // "" is forbidden
	}{
		{"one name that is an address", []string{"https://example.com/org"},
			claims{"https://example.com/org": "globex"}, "globex"},
		{"inside of another", []string{"o", "id"}, claims{"o": claims{"id": "globex"}}, "globex"},
		{"deep inside", []string{"a", "b", "c"}, claims{"a": claims{"b": claims{"c": "globex"}}}, "globex"},
		{"a dot in a name is no path", []string{"o", "id"}, claims{"o.id": "evil"}, ""},
		{"a path is no name with a dot", []string{"o.id"}, claims{"o": claims{"id": "evil"}}, ""},
		{"the dotted name beside the path", []string{"o", "id"}, claims{"o.id": "evil", "o": claims{"id": "globex"}}, "globex"},
		{"the path beside the dotted name", []string{"o.id"}, claims{"o.id": "globex", "o": claims{"id": "evil"}}, "globex"},
		{"path through a text", []string{"o", "id"}, claims{"o": "id"}, ""},
		{"path through a list", []string{"o", "0"}, claims{"o": []string{"evil"}}, ""},
		{"path through null", []string{"o", "id"}, claims{"o": nil}, ""},
		{"path that ends early", []string{"o"}, claims{"o": claims{"id": "evil"}}, ""},
		{"same name at another depth", []string{"tenant"}, claims{"o": claims{"tenant": "evil"}}, ""},
		{"escapes in name and value", []string{"org"},
			claims{"x": raw(`{"\u006frg":"evil"}`), "org": raw(`"gl\u006fbex"`)}, "globex"},
	} {
		t.Run(c.name, func(t *testing.T) {
			issuer := hmacIssuer()
			issuer.TenantClaim = c.path
			if c.want == "" {
				checkAnswer(t, newResolver(t, issuer), request(token(c.changes)), tenant.ErrForbidden)
			} else if got := checkAnswer(t, newResolver(t, issuer), request(token(c.changes)), nil); got.ID != c.want {
				t.Errorf("tenant %q, want %q", got.ID, c.want)
			}
		})
	}
}

func TestResolve_TierClaimThatNamesNoTierIsIgnoredAndCounted(t *testing.T) {
	for _, c := range []struct {
		name    string
		claim   any
		want    string
		ignored uint64
	}{
		{"a tier", "enterprise", "enterprise", 0},
		{"missing", absent, "", 0},
		{"null", nil, "", 1},
		{"number", 7, "", 1},
		{"true", true, "", 1},
		{"list", []string{"pro"}, "", 1},
		{"object", claims{"name": "pro"}, "", 1},
		{"empty", "", "", 1},
		{"begins with an underscore", "_unlimited", "", 1},
		{"too long", strings.Repeat("p", 129), "", 1},
		{"line break", "pro\ntier=enterprise", "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newResolver(t, hmacIssuer())
			got := checkAnswer(t, r, request(token(claims{"plan": c.claim})), nil)
			if got.ID != "acme" || got.Tier != c.want {
				t.Errorf("tenant %v, want acme on tier %q", got, c.want)
			}
			if r.IgnoredTierClaims() != c.ignored || r.Stats().IgnoredTierClaims != c.ignored {
				t.Errorf("IgnoredTierClaims %d, want %d", r.IgnoredTierClaims(), c.ignored)
			}
		})
	}
}

func TestResolve_IssuerWithoutTierClaimAssertsNoTier(t *testing.T) {
	issuer := hmacIssuer()
	issuer.TierClaim = nil
	r := newResolver(t, issuer)
	if got := checkAnswer(t, r, request(token(nil)), nil); got.Tier != "" || r.IgnoredTierClaims() != 0 {
		t.Errorf("tier %q with %d ignored, want none and 0", got.Tier, r.IgnoredTierClaims())
	}
}

// TestResolve_IDAndTierDoNotKeepTheClaims: limiters remember IDs and tiers of many tenants for long.
func TestResolve_IDAndTierDoNotKeepTheClaims(t *testing.T) {
	got := checkAnswer(t, newResolver(t, hmacIssuer()), request(token(nil)), nil)
	start := uintptr(unsafe.Pointer(unsafe.StringData(got.Claims)))
	for _, s := range []string{got.ID, got.Tier} {
		if at := uintptr(unsafe.Pointer(unsafe.StringData(s))); at >= start && at < start+uintptr(len(got.Claims)) {
			t.Errorf("%q is a part of the claims", s)
		}
	}
}

func TestResolve_TierAsOfIsZeroWithoutIat(t *testing.T) {
	got := checkAnswer(t, newResolver(t, hmacIssuer()), request(token(claims{"iat": absent})), nil)
	if !got.TierAsOf.IsZero() {
		t.Errorf("TierAsOf %v, want the zero time", got.TierAsOf)
	}
}
