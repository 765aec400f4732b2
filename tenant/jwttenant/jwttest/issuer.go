package jwttest

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// keyID is the kid of all tokens.
const keyID = "jwttest"

// Issuer mints tokens with a key of its own. Its methods may be called concurrently.
type Issuer struct {
	config jwttenant.Issuer
	sign   func(*jwt.Token) string // keeps the key out of the reach of whatever prints by reflection
}

// New returns an issuer like the given one, but with a new key: it has the same name, audience, claims and tenants. Of
// several algorithms it has the first; of the values of a template too, unless the claim is the tenant's. What is empty is filled in:
//
//	Issuer       "https://issuer.test/"
//	Audience     "service.test"
//	Algorithms   ES256
//	TenantClaim  "tenant_id"
//	TierClaim    "plan"
//
// It panics on an algorithm that package jwttenant does not have, and on a template without values.
func New(like jwttenant.Issuer) *Issuer {
	if like.Issuer == "" {
		like.Issuer = "https://issuer.test/"
	}
	if like.Audience == "" {
		like.Audience = "service.test"
	}
	if len(like.Algorithms) == 0 {
		like.Algorithms = []string{"ES256"}
	}
	if len(like.TenantClaim) == 0 {
		like.TenantClaim = []string{"tenant_id"}
	}
	if len(like.TierClaim) == 0 {
		like.TierClaim = []string{"plan"}
	}
	if strings.Contains(like.Issuer, "{") && len(like.IssuerValues) == 0 {
		panic("jwttest: IssuerValues is empty, and Issuer is a template")
	}
	like.Algorithms = slices.Clone(like.Algorithms[:1])
	like.TenantClaim = slices.Clone(like.TenantClaim)
	like.TierClaim = slices.Clone(like.TierClaim)

	key, source, err := newKey(like.Algorithms[0])
	if err != nil {
		panic("jwttest: " + err.Error())
	}
	like.Keys = source
	return &Issuer{config: like, sign: func(t *jwt.Token) string {
		signed, err := t.SignedString(key)
		if err != nil {
			panic("jwttest: " + err.Error()) // of the claims, which JSON cannot express: the key suits the algorithm
		}
		return signed
	}}
}

// Config returns the issuer as [jwttenant.Config] takes it, with the key that its tokens are verified with.
func (i *Issuer) Config() jwttenant.Issuer { return i.config }

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
// not empty, TierAsOf replaces iat where it is not zero; Claims is not used. Further claims are set over these, the last
// one of a name winning; they replace whole claims, also where the tenant's or the tier's is inside of one.
//
// It panics on claims that encoding/json cannot write.
func (i *Issuer) Token(t tenant.Tenant, claims ...Claims) string {
	now := time.Now()
	all := Claims{"iss": i.config.Issuer, "iat": now, "exp": now.Add(time.Hour), "jti": rand.Text()}
	for name, values := range i.config.RequiredClaims {
		if !slices.Contains(values, "") {
			all[name] = append(slices.Clone(values), name+".test")[0]
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
		set(all, i.config.TenantClaim, i.config.TenantPrefix+t.ID)
	}
	set(all, i.config.TierClaim, t.Tier)
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

	token := jwt.NewWithClaims(signingMethod(i.config.Algorithms[0]), all.forToken())
	token.Header["alg"], token.Header["kid"] = i.config.Algorithms[0], keyID
	if i.config.RFC9068 {
		token.Header["typ"] = "at+jwt"
	}
	return i.sign(token)
}

// Authorize gives r the header Authorization with a token as of [Issuer.Token], in place of any other, and returns r.
func (i *Issuer) Authorize(r *http.Request, t tenant.Tenant, claims ...Claims) *http.Request {
	r.Header.Set("Authorization", "Bearer "+i.Token(t, claims...))
	return r
}

// set puts value at path, unless it is empty.
func set(claims map[string]any, path []string, value string) {
	if value == "" {
		return
	}
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

// signingMethod returns the method that the algorithm called name signs with; nil: there is none.
func signingMethod(name string) jwt.SigningMethod {
	if name == "Ed25519" { // which package jwt knows by its old name only
		return jwt.SigningMethodEdDSA
	}
	return jwt.GetSigningMethod(name)
}

// newKey returns a key to sign with by the algorithm called name, and the source to verify with.
func newKey(name string) (key any, source jwttenant.KeySource, err error) {
	public := func(signer crypto.Signer, err error) (any, jwttenant.KeySource, error) {
		if err != nil {
			return nil, jwttenant.KeySource{}, err
		}
		return signer, jwttenant.PublicKeys(map[string]crypto.PublicKey{keyID: signer.Public()}), nil
	}
	switch method := signingMethod(name).(type) {
	case *jwt.SigningMethodHMAC:
		secret := make([]byte, 64) // the longest hash
		rand.Read(secret)
		return secret, jwttenant.HMAC(secret), nil
	case *jwt.SigningMethodRSA, *jwt.SigningMethodRSAPSS:
		return public(rsa.GenerateKey(rand.Reader, 2048))
	case *jwt.SigningMethodECDSA:
		curves := map[int]elliptic.Curve{256: elliptic.P256(), 384: elliptic.P384(), 521: elliptic.P521()}
		return public(ecdsa.GenerateKey(curves[method.CurveBits], rand.Reader))
	case *jwt.SigningMethodEd25519:
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return public(private, err)
	}
	return nil, jwttenant.KeySource{}, fmt.Errorf("no algorithm %.40q", name)
}
