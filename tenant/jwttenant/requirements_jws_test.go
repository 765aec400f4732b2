package jwttenant_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/asn1"
	"math/big"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/internal/sentinel"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// signedAs returns a token of hmacIssuer's with header and claims spelt as they are in text.
func signedAs(text string) string {
	signature := encoded(must(jwt.SigningMethodHS256.Sign(text, secret))...)
	sentinel.Hide(signature)
	return text + "." + signature
}

// TestRFC7515 has a row for each rule on headers and signatures, by section.
func TestRFC7515(t *testing.T) {
	ec := func(header string) string { return mint("ES256", ecKey(), header, goodClaims().json()) }
	good := ec(`{"alg":"ES256","kid":"k"}`)
	at := strings.LastIndexByte(good, '.') + 1
	signature := decoded(good[at:])
	altered := func(n int) string {
		other := bytes.Clone(signature)
		other[n] ^= 1
		return good[:at] + encoded(other...)
	}
	part := strings.Split(good, ".")
	serialized := `{"protected":"` + part[0] + `","payload":"` + part[1] + `","signature":"` + part[2] + `"}`
	keys := jwttenant.PublicKeys(map[string]crypto.PublicKey{"k": ecKey().Public(), "l": ecKeyOn(ecKey().Curve).Public()})
	checkTokens(t, newResolver(t, keyIssuer(keys, "ES256")), []tokenCase{
		{"4 parameters that nobody knows", ec(`{"alg":"ES256","kid":"k","x":{"y":[1]},"x5t#S256":"AAAA"}`), nil},
		{"4 a parameter twice", ec(`{"alg":"ES256","kid":"k","kid":"l"}`), tenant.ErrInvalid},
		{"4 a parameter twice, once escaped", ec(`{"alg":"ES256","\u006bid":"l","kid":"k"}`), tenant.ErrInvalid},
		{"4.1.1 no alg", ec(`{"kid":"k"}`), tenant.ErrInvalid},
		{"4.1.4 kid in another case", ec(`{"alg":"ES256","kid":"K"}`), tenant.ErrInvalid},
		{"4.1.4 kid of another key", ec(`{"alg":"ES256","kid":"l"}`), tenant.ErrInvalid},
		{"4.1.9 typ with its tree", ec(`{"alg":"ES256","kid":"k","typ":"application/JWT"}`), nil},
		{"4.1.9 typ of another tree", ec(`{"alg":"ES256","kid":"k","typ":"text/JWT"}`), tenant.ErrInvalid},
		{"4.1.10 cty of what is no token", ec(`{"alg":"ES256","kid":"k","cty":"json"}`), nil},
		{"4.1.11 an extension", ec(`{"alg":"ES256","kid":"k","crit":["x"],"x":1}`), tenant.ErrInvalid},
		{"4.1.11 an extension that is missing", ec(`{"alg":"ES256","kid":"k","crit":["x"]}`), tenant.ErrInvalid},
		{"4.1.11 a name of the standard's own", ec(`{"alg":"ES256","kid":"k","crit":["alg"]}`), tenant.ErrInvalid},
		{"4.1.11 null", ec(`{"alg":"ES256","kid":"k","crit":null}`), tenant.ErrInvalid},

		{"5.2 as it was signed", good, nil},
		{"5.2 the first bit of the signature", altered(0), tenant.ErrInvalid},
		{"5.2 the last bit of the signature", altered(len(signature) - 1), tenant.ErrInvalid},
		{"5.2 the signature of another spelling", ec(`{"kid":"k","alg":"ES256"}`)[:at] + good[at:], tenant.ErrInvalid},
		{"7.2 the JSON serialization", serialized, tenant.ErrMalformed}, // by its commas
		{"10.12 more behind the header", ec(`{"alg":"ES256","kid":"k"}{}`), tenant.ErrInvalid},
		{"10.12 a comment in the header", ec(`{"alg":"ES256","kid":"k"/**/}`), tenant.ErrInvalid},
		{"F detached claims", mint("ES256", ecKey(), `{"alg":"ES256","kid":"k"}`, ""), tenant.ErrInvalid},
	})
}

// TestRFC7518 has a row for each rule on what a signature has to be, by section; Ed25519 is of RFC 8037. Keys that are
// too weak are errors from New, see TestNew_BadKeys.
func TestRFC7518(t *testing.T) {
	// resigned returns a good token, and one with what change makes of its signature.
	resigned := func(alg string, key crypto.Signer, change func(signature []byte) []byte) (good, other string) {
		good = mint(alg, key, `{"alg":"`+alg+`"}`, goodClaims().json())
		at := strings.LastIndexByte(good, '.') + 1
		return good, good[:at] + encoded(change(decoded(good[at:]))...)
	}
	half := func(signature []byte, n int) *big.Int { return new(big.Int).SetBytes(signature[32*n : 32*(n+1)]) }
	joined := func(r, s *big.Int) []byte {
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	order := ecKey().Params().N
	for _, c := range []struct {
		name, alg string
		key       crypto.Signer
		change    func(signature []byte) []byte
	}{
		{"3.3 a byte too little", "RS256", rsaKey(), func(s []byte) []byte { return s[1:] }},
		{"3.3 a zero before it", "RS256", rsaKey(), func(s []byte) []byte { return append([]byte{0}, s...) }},
		{"3.3 the modulus added", "RS256", rsaKey(), func(s []byte) []byte {
			return new(big.Int).Add(new(big.Int).SetBytes(s), rsaKey().N).Bytes()
		}},
		{"3.4 in DER", "ES256", ecKey(), func(s []byte) []byte {
			return must(asn1.Marshal(struct{ R, S *big.Int }{half(s, 0), half(s, 1)}))
		}},
		{"3.4 the halves swapped", "ES256", ecKey(), func(s []byte) []byte { return append(s[32:64:64], s[:32]...) }},
		{"3.4 a zero before each half", "ES256", ecKey(), func(s []byte) []byte {
			return append(append([]byte{0}, s[:32]...), append([]byte{0}, s[32:]...)...)
		}},
		{"3.4 all zeros", "ES256", ecKey(), func(s []byte) []byte { return make([]byte, 64) }},
		{"3.4 a half that is the order", "ES256", ecKey(), func(s []byte) []byte { return joined(half(s, 0), order) }},
		{"8037 3.1 a byte too much", "EdDSA", ed25519Key(), func(s []byte) []byte { return append(s, 0) }},
		{"8037 3.1 a half made negative", "EdDSA", ed25519Key(), func(s []byte) []byte {
			s[ed25519.SignatureSize-1] |= 0x80
			return s
		}},
	} {
		good, other := resigned(c.alg, c.key, c.change)
		r := newResolver(t, keyIssuer(publicKey("k", c.key.Public()), c.alg))
		checkTokens(t, r, []tokenCase{{c.name, other, tenant.ErrInvalid}, {c.name + ", as it was", good, nil}})
	}
}

// TestRFC7518_3_5_SaltIsAsLongAsTheHash: package jwt would take any salt.
func TestRFC7518_3_5_SaltIsAsLongAsTheHash(t *testing.T) {
	for alg, hash := range map[string]crypto.Hash{"PS256": crypto.SHA256, "PS384": crypto.SHA384, "PS512": crypto.SHA512} {
		r := newResolver(t, keyIssuer(publicKey("k", rsaKey().Public()), alg))
		text := encoded([]byte(`{"alg":"`+alg+`"}`)...) + "." + encoded([]byte(goodClaims().json())...)
		h := hash.New()
		h.Write([]byte(text))
		sum := h.Sum(nil)
		salted := func(length int) string {
			options := rsa.PSSOptions{SaltLength: length}
			return text + "." + encoded(must(rsa.SignPSS(rand.Reader, rsaKey(), hash, sum, &options))...)
		}
		checkTokens(t, r, []tokenCase{
			{alg + " as long", salted(hash.Size()), nil},
			{alg + " shorter", salted(hash.Size() - 1), tenant.ErrInvalid},
			{alg + " longer", salted(hash.Size() + 1), tenant.ErrInvalid},
			{alg + " none", salted(0), tenant.ErrInvalid},
		})
	}
}
