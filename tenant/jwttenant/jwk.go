package jwttenant

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
)

// maxKeys bounds the keys in one document, so that reading it takes no long time.
const maxKeys = 256

// published is a key out of a JWK Set (RFC 7517, 5) that tokens may be signed with.
type published struct {
	*key
	id string // kid; "" where there is none
	// issuer limits for whom the key signs, "" for no limit. See signsFor.
	issuer string
	// mark is all that makes the key what it is, to know it again by.
	mark string
}

// parseKeys reads a JWK Set for an issuer that signs with algs. Keys that are not fit for that are left out, and faults
// says why; their neighbours count. The error says that it is no JWK Set at all.
func parseKeys(document []byte, algs []*algorithm) (keys []published, faults []string, err error) {
	list, err := keyList(document)
	if err != nil {
		return nil, nil, err
	}
	for n, text := range list {
		k, err := parseKey(string(text), algs)
		if err != nil {
			faults = append(faults, fmt.Sprintf("key %d: %v", n, err))
			continue
		}
		keys = append(keys, k)
	}
	return keys, faults, nil
}

var (
	errNoKeySet    = errors.New("the document is not a JSON object with an array of keys")
	errTooManyKeys = fmt.Errorf("the document has more than %d keys", maxKeys)
)

// keyList returns the elements of a JWK Set. It does not look into them as parseObject would: what is wrong with one of
// them is no reason to go without the others.
func keyList(document []byte) ([]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(document))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errNoKeySet
	}
	var keys json.RawMessage
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil || name == "keys" && keys != nil {
			return nil, errNoKeySet
		}
		if name == "keys" {
			keys = value
		}
	}
	if end, err := d.Token(); err != nil || end != json.Delim('}') {
		return nil, errNoKeySet
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errNoKeySet
	}
	var list []json.RawMessage
	switch {
	case !bytes.HasPrefix(keys, []byte("[")) || json.Unmarshal(keys, &list) != nil:
		return nil, errNoKeySet
	case len(list) > maxKeys:
		return nil, errTooManyKeys
	}
	return list, nil
}

// parseKey reads one JWK (RFC 7517, 4). The error has nothing of the key.
func parseKey(text string, algs []*algorithm) (published, error) {
	o, err := parseObject(text)
	if err != nil {
		return published{}, errors.New("not a JSON object, or one with a name twice")
	}
	jwk := jwk{o}
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} { // RFC 7518, 6.2.2, 6.3.2 and 6.4.1
		if jwk.has(name) {
			return published{}, errors.New("a private key or a secret, in public")
		}
	}
	var k published
	if k.id = jwk.text("kid"); jwk.has("kid") && !validKeyID(k.id) {
		return published{}, errors.New("no token can have its kid")
	}
	if k.issuer = jwk.text("issuer"); jwk.has("issuer") && k.issuer == "" {
		return published{}, errors.New("issuer is not a text")
	}
	if algs, err = jwk.algorithms(algs); err != nil {
		return published{}, err
	}
	material, err := jwk.material()
	if err != nil {
		return published{}, err
	}
	if k.key, err = bind(material, algs); err != nil {
		return published{}, err
	}
	k.mark = strings.Join([]string{k.key.alg.name, k.issuer, jwk.text("crv"), jwk.text("x"), jwk.text("y"),
		jwk.text("n"), jwk.text("e")}, "\n")
	return k, nil
}

// jwk is a key as it was published.
type jwk struct{ object }

func (j jwk) has(name string) bool { return j.at(name) != "" }

// text returns a member that is a text, "" where it is none.
func (j jwk) text(name string) string {
	s, _ := text(j.at(name))
	return s
}

// algorithms returns those of algs that the key says it is for.
func (j jwk) algorithms(algs []*algorithm) ([]*algorithm, error) {
	if j.has("use") && j.text("use") != "sig" {
		return nil, errors.New("use is not sig")
	}
	if j.has("key_ops") && !slices.Contains(elements(j.at("key_ops")), `"verify"`) {
		return nil, errors.New("key_ops is without verify")
	}
	if !j.has("alg") {
		return algs, nil
	}
	for _, alg := range algs {
		if alg.name == j.text("alg") {
			return []*algorithm{alg}, nil
		}
	}
	return nil, errors.New("alg is none of Issuer.Algorithms")
}

// material returns the key itself (RFC 7518, 6, and RFC 8037, 2), of a type that algorithm.checkKey knows.
func (j jwk) material() (any, error) {
	switch j.text("kty") {
	case "RSA":
		return j.rsa()
	case "EC":
		return j.ec()
	case "OKP":
		if j.text("crv") != "Ed25519" {
			return nil, errors.New("crv is not Ed25519")
		}
		x, err := j.bytes("x")
		return ed25519.PublicKey(x), err
	}
	return nil, errors.New("kty is none of RSA, EC and OKP")
}

func (j jwk) rsa() (any, error) {
	n, errN := j.bytes("n")
	e, errE := j.bytes("e")
	if err := cmp.Or(errN, errE); err != nil {
		return nil, err
	}
	exponent := new(big.Int).SetBytes(e)
	if exponent.BitLen() > 31 { // the most that package rsa takes
		return nil, errors.New("e has more than 31 bits")
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}, nil
}

func (j jwk) ec() (any, error) {
	curves := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}
	curve, ok := curves[j.text("crv")]
	if !ok {
		return nil, errors.New("crv is none of P-256, P-384 and P-521")
	}
	x, errX := j.bytes("x")
	y, errY := j.bytes("y")
	if err := cmp.Or(errX, errY); err != nil {
		return nil, err
	}
	// RFC 7518, 6.2.1.2: leading zeros are not left out.
	if size := (curve.Params().BitSize + 7) / 8; len(x) != size || len(y) != size {
		return nil, errors.New("x or y has not the length of the curve")
	}
	pub, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, x, y))
	if err != nil {
		return nil, errors.New("x and y are no point on the curve")
	}
	return pub, nil
}

// bytes returns what a member has in base64url.
func (j jwk) bytes(name string) ([]byte, error) {
	s := j.text(name)
	b, err := encoding.DecodeString(s)
	if err != nil || len(b) == 0 || strings.ContainsAny(s, "\r\n") { // which package base64 skips
		return nil, fmt.Errorf("%s is missing or not in base64url", name)
	}
	return b, nil
}

// directoryID stands for any one path segment in the issuer of a key. Microsoft publishes one set of keys for all
// directories of Entra ID, and says of each key by the member issuer whose tokens it signs: those of
// "https://login.microsoftonline.com/{tenantid}/v2.0", or of one directory only.
const directoryID = "{tenantid}"

// signsFor reports whether a key with that issuer signs tokens with this iss.
func signsFor(issuer, iss string) bool {
	before, after, template := strings.Cut(issuer, directoryID)
	if !template {
		return issuer == "" || issuer == iss
	}
	id, begins := strings.CutPrefix(iss, before)
	id, ends := strings.CutSuffix(id, after)
	return begins && ends && id != "" && !strings.Contains(id, "/")
}
