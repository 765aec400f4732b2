package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// A rival that lets something pass would be cheap, and a comparison with it void.
func TestContenders_FindTheTenantInGoodTokensOnly(t *testing.T) {
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	impostors := map[string]issuer{}
	for _, i := range []issuer{hs256, rs256, es256, eddsa} {
		impostors[i.alg] = newIssuer(i.alg)
	}
	for _, c := range contenders {
		good := c.issuer.token("acme", nil)
		tests := []struct{ name, token, want string }{
			{"good", good, "acme"},
			{"good, again", good, "acme"},
			{"forged: another tenant's claims under its signature", forge(good, c.issuer.token("globex", nil)), ""},
			{"forged: not signed", unsigned(good), ""},
			{"signed by another key", impostors[c.issuer.alg].token("acme", nil), ""},
			{"expired", c.issuer.token("acme", jwt.MapClaims{"exp": past}), ""},
			{"not valid yet", c.issuer.token("acme", jwt.MapClaims{"nbf": future}), ""},
			{"issued in the future", c.issuer.token("acme", jwt.MapClaims{"iat": future}), ""},
			{"another issuer's", c.issuer.token("acme", jwt.MapClaims{"iss": "https://id.example.org/"}), ""},
			{"for another service", c.issuer.token("acme", jwt.MapClaims{"aud": "invoices-api"}), ""},
			{"no token", "", ""},
			{"good, after all that", good, "acme"},
		}
		for _, test := range tests {
			t.Run(fmt.Sprintf("%s/%s", c.name, test.name), func(t *testing.T) {
				if got := c.ask(newExchange(test.token)); got != test.want {
					t.Errorf("found tenant %q, want %q", got, test.want)
				}
			})
		}
	}
}

// Both would be void too: remembered tokens that are verified again, and unremembered ones that are not.
func TestOurs_RememberTokensWhereTheySaySo(t *testing.T) {
	const verifying = 10 // allocations, at least
	for _, c := range []contender{remembered, rememberedRS256, rememberedES256, rememberedEdDSA, unremembered} {
		t.Run(c.name, func(t *testing.T) {
			x := newExchange(c.issuer.token("acme", nil))
			got := testing.AllocsPerRun(100, func() { c.ask(x) })
			if again := got >= verifying; again != (c.name == unremembered.name) {
				t.Errorf("%v allocations, %d or more are those of verifying the token", got, verifying)
			}
		})
	}
}

// forge returns the claims of one token under the signature of another.
func forge(signed, claims string) string {
	return claims[:strings.LastIndexByte(claims, '.')] + signed[strings.LastIndexByte(signed, '.'):]
}

// unsigned returns a token that says that it needs no signature, and has none.
func unsigned(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	claims, _, _ := strings.Cut(rest, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + claims + "."
}
