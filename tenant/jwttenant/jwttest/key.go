package jwttest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// key signs tokens, from one rotation to the next.
type key struct {
	id     string                  // kid
	sign   func(*jwt.Token) string // a function, so that the key is out of the reach of whatever prints by reflection
	source jwttenant.KeySource     // what verifies
	public map[string]string       // the same as a JWK; nil: it is a secret
}

// newKey returns a new key for the algorithm called alg. It panics if there is no such algorithm.
func newKey(alg, id string) *key {
	private, err := generate(alg)
	if err != nil {
		panic("jwttest: " + err.Error())
	}
	k := &key{id: id, sign: func(t *jwt.Token) string {
		signed, err := t.SignedString(private)
		if err != nil {
			panic("jwttest: " + err.Error()) // of the claims, which JSON cannot express: the key suits the algorithm
		}
		return signed
	}}
	switch private := private.(type) {
	case []byte:
		k.source = jwttenant.HMAC(private)
	case crypto.Signer:
		public := private.Public()
		k.source = jwttenant.PublicKeys(map[string]crypto.PublicKey{id: public})
		k.public = map[string]string{"kid": id, "use": "sig", "alg": alg}
		maps.Copy(k.public, material(public))
	}
	return k
}

// signingMethod returns the method that the algorithm called name signs with; nil: there is none.
func signingMethod(name string) jwt.SigningMethod {
	if name == "Ed25519" { // which package jwt knows by its old name only
		return jwt.SigningMethodEdDSA
	}
	return jwt.GetSigningMethod(name)
}

// generate returns what the algorithm called alg signs with: a secret, or a crypto.Signer.
func generate(alg string) (any, error) {
	switch method := signingMethod(alg).(type) {
	case *jwt.SigningMethodHMAC:
		secret := make([]byte, 64) // the longest hash
		rand.Read(secret)
		return secret, nil
	case *jwt.SigningMethodRSA, *jwt.SigningMethodRSAPSS:
		return rsa.GenerateKey(rand.Reader, 2048)
	case *jwt.SigningMethodECDSA:
		curves := map[int]elliptic.Curve{256: elliptic.P256(), 384: elliptic.P384(), 521: elliptic.P521()}
		return ecdsa.GenerateKey(curves[method.CurveBits], rand.Reader)
	case *jwt.SigningMethodEd25519:
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	}
	return nil, fmt.Errorf("no algorithm %.40q", alg)
}

// material returns what a JWK has of the key itself (RFC 7518, 6, and RFC 8037, 2).
func material(public crypto.PublicKey) map[string]string {
	encode := base64.RawURLEncoding.EncodeToString
	switch public := public.(type) {
	case *rsa.PublicKey:
		exponent := big.NewInt(int64(public.E)).Bytes()
		return map[string]string{"kty": "RSA", "n": encode(public.N.Bytes()), "e": encode(exponent)}
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, x and y, both as long as the curve wants them, leading zeros included
		if err != nil {
			panic("jwttest: " + err.Error())
		}
		x, y := point[1:1+len(point)/2], point[1+len(point)/2:]
		return map[string]string{"kty": "EC", "crv": public.Params().Name, "x": encode(x), "y": encode(y)}
	case ed25519.PublicKey:
		return map[string]string{"kty": "OKP", "crv": "Ed25519", "x": encode(public)}
	}
	panic(fmt.Sprintf("jwttest: a public key of type %T", public))
}
