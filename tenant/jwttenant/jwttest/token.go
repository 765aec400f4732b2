package jwttest

import (
	"cmp"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant"
)

// Claims are claims by name, as encoding/json writes them, but a time.Time as the seconds since 1970.
type Claims map[string]any

// Absent as a claim's value leaves the claim out.
var Absent any = absent{}

type absent struct{}

// Expired returns the claims of a token that expired an hour ago.
func Expired() Claims {
	return Claims{"iat": time.Now().Add(-2 * time.Hour), "exp": time.Now().Add(-time.Hour)}
}

// Token returns a good token for t, issued now and valid for an hour. ID, Tier and Subject become claims where they are
// not empty, the ID as a list of one where the issuer has TenantSelect; TierAsOf replaces iat where it is not zero; Claims
// is not used. Further claims are set over these, the last one of a name winning; they replace whole claims, also where
// the tenant's or the tier's is inside of one.
//
// It panics on claims that encoding/json cannot write.
func (i *Issuer) Token(t tenant.Tenant, claims ...Claims) string {
	now := time.Now()
	all := Claims{"iss": i.config.Issuer, "iat": now, "exp": now.Add(time.Hour), "jti": rand.Text()}
	for name, values := range i.config.RequiredClaims {
		switch {
		case len(values) == 0:
			all[name] = name + ".test"
		case !slices.Contains(values, ""): // else it may be missing
			all[name] = values[0]
		}
	}
	all[cmp.Or(i.config.AudienceClaim, "aud")] = i.config.Audience
	if !t.TierAsOf.IsZero() {
		all["iat"] = t.TierAsOf
	}
	if i.config.RFC9068 {
		all["sub"], all["client_id"] = "subject.test", "client.test"
	}
	if t.Subject != "" {
		all["sub"] = t.Subject
	}
	if t.ID != "" {
		set(all, i.config.TenantClaim, i.tenantNamed(t.ID))
	}
	if t.Tier != "" {
		set(all, i.config.TierClaim, t.Tier)
	}
	if before, rest, ok := strings.Cut(i.config.Issuer, "{"); ok {
		claim, after, _ := strings.Cut(rest, "}")
		value, ok := all[claim].(string) // of a tenant whose ID it is
		if !ok {
			value = i.config.IssuerValues[0]
		}
		all["iss"], all[claim] = before+value+after, value
	}
	for _, c := range claims {
		maps.Copy(all, c)
	}

	k := i.key.Load()
	token := jwt.NewWithClaims(signingMethod(i.config.Algorithms[0]), all.forToken())
	token.Header["alg"], token.Header["kid"] = i.config.Algorithms[0], k.id
	if i.config.RFC9068 {
		token.Header["typ"] = "at+jwt"
	}
	return k.sign(token)
}

// Authorize gives r the header Authorization with a token as of [Issuer.Token], in place of any other, and returns r.
func (i *Issuer) Authorize(r *http.Request, t tenant.Tenant, claims ...Claims) *http.Request {
	r.Header.Set("Authorization", "Bearer "+i.Token(t, claims...))
	return r
}

// tenantNamed returns what the tenant's claim has for the tenant with that ID. It is a list where the real issuer's is one,
// so that handlers decode in tests what they will in production.
func (i *Issuer) tenantNamed(id string) any {
	name := i.config.TenantPrefix + id
	inTemplate := strings.Contains(i.config.Issuer, "{"+i.config.TenantClaim[0]+"}") // where no list can stand
	if i.config.TenantSelect == nil || inTemplate {
		return name
	}
	return []string{name}
}

// set puts value at path.
func set(claims map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, ok := claims[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			claims[name] = inner
		}
		claims = inner
	}
	claims[path[len(path)-1]] = value
}

func (c Claims) forToken() jwt.MapClaims {
	out := jwt.MapClaims{}
	for name, value := range c {
		switch v := value.(type) {
		case absent:
		case time.Time:
			out[name] = v.Unix()
		default:
			out[name] = v
		}
	}
	return out
}
