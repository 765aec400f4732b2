package jwttenant

import (
	"encoding/base64"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// token is a token in the parts that it is judged by. Nothing in it is verified.
type token struct {
	signed          string // header and claims as they were sent: what the signature is of
	signature       []byte
	header, payload string // decoded
	claims          object

	alg, typ string
	keyID    string // kid; "" where there is none

	algorithm *algorithm // the one of the issuer's that alg names; nil before issuer.judge
	asked     *jwt.Token // for a key function; nil: there is none
}

// parseToken reads raw, which is of bounded length (RFC 7515, 7.1).
func parseToken(raw string) (*token, error) {
	header, payload, signature, ok := split(raw)
	if !ok {
		if strings.ContainsAny(raw, " \t,") {
			return nil, errNotOneToken // several, or a token and something else
		}
		return nil, errSegments
	}
	headerText, err1 := encoding.DecodeString(header)
	claimsText, err2 := encoding.DecodeString(payload)
	signatureBytes, err3 := encoding.DecodeString(signature)
	if err1 != nil || err2 != nil || err3 != nil {
		return nil, errSegments
	}
	t := &token{
		signed:    raw[:len(header)+1+len(payload)],
		signature: signatureBytes,
		header:    string(headerText),
		payload:   string(claimsText),
	}
	if err := t.readHeader(); err != nil {
		return nil, err
	}
	var err error
	t.claims, err = parseObject(t.payload)
	return t, err
}

// encoding refuses bits that no byte uses, which would let one signature be spelt in several ways.
var encoding = base64.RawURLEncoding.Strict()

// split cuts raw at its two dots. It checks the alphabet itself because package base64 skips line breaks, even where it
// is strict.
func split(raw string) (header, payload, signature string, ok bool) {
	var dots [2]int
	n := 0
	for i := range len(raw) {
		switch c := raw[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '.' && n < len(dots):
			dots[n] = i
			n++
		default:
			return "", "", "", false
		}
	}
	if n < len(dots) {
		return "", "", "", false
	}
	return raw[:dots[0]], raw[dots[0]+1 : dots[1]], raw[dots[1]+1:], true
}

// readHeader takes from the header what is needed (RFC 7515, 4.1). Keys, certificates and their addresses (jwk, jku,
// x5c, x5u) are not: which keys an issuer has is not for the token to say.
func (t *token) readHeader() error {
	header, err := parseObject(t.header)
	if err != nil {
		return err
	}
	if header.at("crit") != "" {
		return errCritical
	}
	if cty, _ := text(header.at("cty")); strings.EqualFold(cty, "JWT") {
		return errNested
	}
	var ok bool
	if t.alg, ok = text(header.at("alg")); !ok {
		return errHeader
	}
	if kid := header.at("kid"); kid != "" {
		if t.keyID, ok = text(kid); !ok || !validKeyID(t.keyID) {
			return errHeader
		}
	}
	if typ := header.at("typ"); typ != "" {
		if t.typ, ok = text(typ); !ok {
			return errHeader
		}
	}
	return nil
}

// validKeyID reports whether id may be a kid: 1 to 256 bytes of printable ASCII, so that it harms no log and no look-up
// (RFC 8725, 3.10).
func validKeyID(id string) bool {
	if id == "" || len(id) > 256 {
		return false
	}
	for i := range len(id) {
		if id[i] < ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}
