package jwttenant_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func oneIssuer(i jwttenant.Issuer) jwttenant.Config {
	return jwttenant.Config{Issuers: []jwttenant.Issuer{i}}
}

// checkRefused fails unless New(cfg) returns an error that says each of want.
func checkRefused(t *testing.T, cfg jwttenant.Config, want ...string) {
	t.Helper()
	r, err := jwttenant.New(cfg)
	if err == nil || r != nil {
		t.Fatalf("New: resolver %v, error %v; want an error that says %q", r, err, want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("New: error %q, want one that says %q", err, w)
		}
	}
}

func TestNew_ImpossibleSettings(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *jwttenant.Config)
		want   string
	}{
		{"no issuers", func(c *jwttenant.Config) { c.Issuers = nil }, "jwttenant: Issuers is empty"},
		{"negative leeway", func(c *jwttenant.Config) { c.Leeway = -1 }, "Leeway is -1ns"},
		{"leeway over a minute", func(c *jwttenant.Config) { c.Leeway = time.Minute + 1 }, "Leeway is 1m0.000000001s"},
		{"negative size", func(c *jwttenant.Config) { c.MaxTokenBytes = -1 }, "MaxTokenBytes is -1"},
		{"size over 64 KiB", func(c *jwttenant.Config) { c.MaxTokenBytes = 65537 }, "MaxTokenBytes is 65537"},
		{"negative tokens of a tenant", func(c *jwttenant.Config) {
			c.MaxRememberedPerTenant = -1
		}, "MaxRememberedPerTenant is -1, want 0 to 10000"},
		{"more tokens of a tenant than in all", func(c *jwttenant.Config) {
			c.MaxRemembered, c.MaxRememberedPerTenant = 10, 11
		}, "MaxRememberedPerTenant is 11, want 0 to 10"},
		{"more tokens than memory", func(c *jwttenant.Config) { c.MaxRemembered = 1 << 40 }, "MaxRemembered is 1099511627776"},
		{"negative verifications", func(c *jwttenant.Config) { c.MaxVerifications = -1 }, "MaxVerifications is -1"},
		{"a cookie of no name", func(c *jwttenant.Config) { c.Cookie = "a b" }, `Cookie is "a b"`},
		{"a required claim of no name", func(c *jwttenant.Config) {
			c.Issuers[0].RequiredClaims = map[string][]string{"": {"access"}}
		}, "Issuers[0].RequiredClaims has an empty name"},
		{"another audience claim beside RFC 9068", func(c *jwttenant.Config) {
			c.Issuers[0].RFC9068, c.Issuers[0].AudienceClaim = true, "client_id"
		}, "Issuers[0].AudienceClaim is set beside RFC9068"},
		{"iss for an audience", func(c *jwttenant.Config) {
			c.Issuers[0].AudienceClaim = "iss"
		}, "Issuers[0].AudienceClaim is iss"},
		{"values for no template", func(c *jwttenant.Config) {
			c.Issuers[0].IssuerValues = []string{"a"}
		}, "Issuers[0].IssuerValues is set"},
		{"a template without values", func(c *jwttenant.Config) {
			c.Issuers[0].Issuer = "https://{tid}/"
		}, "Issuers[0].IssuerValues is empty"},
		{"a template that is not closed", func(c *jwttenant.Config) {
			c.Issuers[0].Issuer, c.Issuers[0].IssuerValues = "https://{tid", []string{"a"}
		}, "Issuers[0].Issuer is no template"},
		{"a template with two places", func(c *jwttenant.Config) {
			c.Issuers[0].Issuer, c.Issuers[0].IssuerValues = "https://{tid}/{x}", []string{"a"}
		}, "Issuers[0].Issuer is no template"},
		{"a value with a path", func(c *jwttenant.Config) {
			c.Issuers[0].Issuer, c.Issuers[0].IssuerValues = "https://id/{tid}", []string{"a", "b/c"}
		}, `Issuers[0].IssuerValues[1] is "b/c"`},
		{"a value twice", func(c *jwttenant.Config) {
			c.Issuers[0].Issuer, c.Issuers[0].IssuerValues = "https://id/{tid}", []string{"a", "a"}
		}, "Issuers[0].Issuer is that of an earlier one"},
		{"several directories, tenants unsaid", func(c *jwttenant.Config) {
			c.Issuers[0].Issuer, c.Issuers[0].IssuerValues = "https://id/{tid}", []string{"a", "b"}
		}, "Issuers[0].Tenants or AnyTenant is required"},
		{"a claim that users edit", func(c *jwttenant.Config) {
			c.Issuers[0].TenantClaim = []string{"user_metadata", "tenant"}
		}, `Issuers[0].TenantClaim goes through "user_metadata", which users can edit`},
		{"a tier that users edit", func(c *jwttenant.Config) {
			c.Issuers[0].TierClaim = []string{"https://example.com/user_metadata", "plan"}
			c.Issuers[0].UserEditable = []string{"user_metadata"}
		}, `Issuers[0].TierClaim goes through "https://example.com/user_metadata", which users can edit`},
		{"no name", func(c *jwttenant.Config) { c.Issuers[0].Issuer = "" }, "Issuers[0].Issuer is empty"},
		{"no audience", func(c *jwttenant.Config) { c.Issuers[0].Audience = "" }, "Issuers[0].Audience is empty"},
		{"no algorithms", func(c *jwttenant.Config) { c.Issuers[0].Algorithms = nil }, "Issuers[0].Algorithms is empty"},
		{"an algorithm twice", func(c *jwttenant.Config) {
			c.Issuers[0].Algorithms = []string{"HS256", "HS256"}
		}, "Issuers[0].Algorithms[1] is HS256 once more"},
		{"HMAC beside others", func(c *jwttenant.Config) {
			c.Issuers[0].Algorithms = []string{"ES256", "HS256"}
		}, "Issuers[0].Algorithms has HMAC beside other kinds: ES256, HS256"},
		{"no keys", func(c *jwttenant.Config) { c.Issuers[0].Keys = jwttenant.KeySource{} }, "Issuers[0].Keys is empty"},
		{"no tenant claim", func(c *jwttenant.Config) { c.Issuers[0].TenantClaim = nil }, "Issuers[0].TenantClaim is empty"},
		{"empty name of a tenant claim", func(c *jwttenant.Config) {
			c.Issuers[0].TenantClaim = []string{"o", ""}
		}, "Issuers[0].TenantClaim has an empty name"},
		{"empty name of a tier claim", func(c *jwttenant.Config) {
			c.Issuers[0].TierClaim = []string{""}
		}, "Issuers[0].TierClaim has an empty name"},
		{"no tenants", func(c *jwttenant.Config) { c.Issuers[0].Tenants = []string{} }, "Issuers[0].Tenants is an empty list"},
		{"an invalid tenant", func(c *jwttenant.Config) {
			c.Issuers[0].Tenants = []string{"acme", "*"}
		}, "Issuers[0].Tenants[1]: tenant: invalid tenant ID"},
		{"tenants, and any", func(c *jwttenant.Config) {
			c.Issuers[0].Tenants, c.Issuers[0].AnyTenant = []string{"acme"}, true
		}, "Issuers[0].Tenants is set beside AnyTenant"},
		{"an issuer twice", func(c *jwttenant.Config) {
			c.Issuers = append(c.Issuers, c.Issuers[0])
			c.Issuers[1].Audience = "another"
		}, "Issuers[1].Issuer is that of an earlier one"},
		{"two issuers, tenants unsaid", func(c *jwttenant.Config) {
			c.Issuers = append(c.Issuers, c.Issuers[0])
			c.Issuers[0].AnyTenant = true
		}, "Issuers[1].Tenants or AnyTenant is required with several issuers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := oneIssuer(hmacIssuer())
			c.change(&cfg)
			checkRefused(t, cfg, c.want)
		})
	}
	for _, alg := range []string{
		"none", "None", "NONE", "", "hs256", "Hs256", "HS256 ", "HS1", "RS1",
		"ES256K", "RSA-OAEP", "dir", "A128KW",
	} {
		t.Run("algorithm "+alg, func(t *testing.T) {
			checkRefused(t, oneIssuer(keyIssuer(jwttenant.HMAC(secret), alg)), "Issuers[0].Algorithms[0] is")
		})
	}
}

func TestNew_SaysAllThatIsWrong(t *testing.T) {
	checkRefused(t, jwttenant.Config{
		Leeway:  -1,
		Issuers: []jwttenant.Issuer{{}, {Issuer: "b", Algorithms: []string{"ES256"}, Keys: jwttenant.HMAC(secret)}},
	},
		"jwttenant: Leeway", "Issuers[0].Issuer", "Issuers[0].Audience", "Issuers[0].Algorithms", "Issuers[0].Keys",
		"Issuers[0].TenantClaim", "Issuers[0].Tenants", "Issuers[1].Audience", "Issuers[1].Keys", "Issuers[1].TenantClaim",
	)
}

func offCurve() *ecdsa.PublicKey {
	//lint:ignore SA1019 no other way makes such a key
	return &ecdsa.PublicKey{Curve: elliptic.P256(), X: big.NewInt(1), Y: big.NewInt(1)}
}

func TestNew_BadKeys(t *testing.T) {
	small := new(rsa.PublicKey)
	*small = rsaKey().PublicKey
	small.N = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 1024), big.NewInt(1))
	with := func(change func(k *rsa.PublicKey)) *rsa.PublicKey {
		k := rsaKey().PublicKey
		change(&k)
		return &k
	}
	var nilRSA *rsa.PublicKey
	for _, c := range []struct {
		name string
		alg  string
		keys jwttenant.KeySource
		want string
	}{
		{"an empty secret", "HS256", jwttenant.HMAC(nil), "HS256 wants a secret of 32 bytes or more, not 0"},
		{"a secret of 31 bytes", "HS256", jwttenant.HMAC(secret[:31]), "HS256 wants a secret of 32 bytes or more, not 31"},
		{"a secret of 32 bytes for HS384", "HS384", jwttenant.HMAC(secret), "HS384 wants a secret of 48 bytes or more, not 32"},
		{"a secret of 32 bytes for HS512", "HS512", jwttenant.HMAC(secret), "HS512 wants a secret of 64 bytes or more, not 32"},
		{"a key in PEM as a secret", "HS256",
			jwttenant.HMAC([]byte("-----BEGIN PUBLIC KEY-----\n" + strings.Repeat("A", 64))), "not a key in PEM"},
		{"a secret for RSA", "RS256", jwttenant.HMAC(secret), "RS256 wants an *rsa.PublicKey, not a []uint8"},
		{"a secret for ECDSA", "ES256", jwttenant.HMAC(secret), "ES256 wants an *ecdsa.PublicKey"},
		{"a secret for EdDSA", "EdDSA", jwttenant.HMAC(secret), "EdDSA wants an ed25519.PublicKey"},
		{"public keys for HMAC", "HS256", publicKey("a", secret), "public keys for an HMAC algorithm"},
		{"no public keys", "ES256", jwttenant.PublicKeys(nil), "there are no keys"},
		{"a nil key", "ES256", publicKey("a", nil), `key "a": ES256 wants an *ecdsa.PublicKey, not a <nil>`},
		{"a nil pointer", "RS256", publicKey("a", nilRSA), `key "a": RS256 wants an RSA key`},
		{"a private key", "ES256", publicKey("a", ecKey()), "not a *ecdsa.PrivateKey"},
		{"an RSA key of 1024 bits", "RS256", publicKey("a", small), "2048 to 16384 bits, not 1024"},
		{"an RSA key of 1024 bits for PSS", "PS256", publicKey("a", small), "2048 to 16384 bits, not 1024"},
		{"an endless RSA key", "RS256", publicKey("a", with(func(k *rsa.PublicKey) {
			k.N = new(big.Int).Add(new(big.Int).Lsh(k.N, 20_000), big.NewInt(1))
		})), "2048 to 16384 bits"},
		{"an RSA key without a modulus", "RS256", publicKey("a", &rsa.PublicKey{E: 65537}), "modulus or exponent"},
		{"an RSA exponent of 1", "RS256", publicKey("a", with(func(k *rsa.PublicKey) { k.E = 1 })), "modulus or exponent"},
		{"an even RSA exponent", "RS256", publicKey("a", with(func(k *rsa.PublicKey) { k.E = 4 })), "modulus or exponent"},
		{"P-384 for ES256", "ES256", publicKey("a", ecKeyOn(elliptic.P384()).Public()), "a key on P-256"},
		{"P-256 for ES512", "ES512", publicKey("a", ecKey().Public()), "a key on P-521"},
		{"a point that is not on the curve", "ES256", publicKey("a", offCurve()), "a point on P-256"},
		{"a curve without a point", "ES256", publicKey("a", &ecdsa.PublicKey{Curve: elliptic.P256()}), "a key on P-256"},
		{"an Ed25519 key cut short", "EdDSA", publicKey("a", ed25519.PublicKey(secret[:31])), "32 bytes, not 31"},
		{"an ID that no token can have", "ES256", publicKey("a\nb", ecKey().Public()), `key "a\nb": no token can have this ID`},
		{"a nil key function", "ES256", jwttenant.Keyfunc(nil), "the key function is nil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkRefused(t, oneIssuer(keyIssuer(c.keys, c.alg)), "jwttenant: Issuers[0].Keys: ", c.want)
		})
	}
	t.Run("several", func(t *testing.T) {
		keys := jwttenant.PublicKeys(map[string]crypto.PublicKey{"a": small, "b": ecKey().Public(), "c": ed25519Key().Public()})
		checkRefused(t, oneIssuer(keyIssuer(keys, "RS256", "EdDSA")), `key "a": RS256 wants`, `key "b": RS256 wants`)
	})
}

func TestNew_KeepsNoHoldOfWhatItWasGiven(t *testing.T) {
	mine := bytes.Clone(secret)
	path := []string{"tenant_id"}
	issuer := keyIssuer(jwttenant.HMAC(mine), "HS256")
	issuer.TenantClaim = path
	issuer.RequiredClaims = map[string][]string{"sub": {"user-7"}}
	r := newResolver(t, issuer)
	clear(mine)
	path[0], issuer.RequiredClaims["sub"][0] = "other", "other"
	checkAnswer(t, r, request(token(nil)), nil)
}

func TestNew_KeyFunctionForTwoAlgorithmsOfOneKindOfKey(t *testing.T) {
	source := jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return nil, nil })
	for _, algs := range [][]string{
		{"RS256", "PS256"}, {"ES256", "RS256", "RS512"}, {"HS256", "HS384"}, {"EdDSA", "Ed25519"},
	} {
		both := strings.Join(algs[len(algs)-2:], " and ")
		checkRefused(t, oneIssuer(keyIssuer(source, algs...)), "a key function, and keys that suit both "+both)
	}
	newResolver(t, keyIssuer(source, "RS256", "ES256", "ES384", "ES512", "Ed25519"))
}

func TestNew_ReturnsWhatWasWrongWhereTheIssuerWasMade(t *testing.T) {
	why := errors.New("the domain is missing")
	issuer := hmacIssuer()
	issuer.Err = why
	_, err := jwttenant.New(oneIssuer(issuer))
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "jwttenant: Issuers[0].Err: the domain is missing") {
		t.Errorf("error %v, want %v of Issuers[0].Err", err, why)
	}
}

func TestNew_ClaimThatUsersEditIsTakenIfAskedForByName(t *testing.T) {
	issuer := hmacIssuer()
	issuer.TenantClaim, issuer.UserEditable = []string{"user_metadata", "tenant"}, []string{"user_metadata"}
	checkAnswer(t, newResolver(t, issuer), request(token(claims{"user_metadata": claims{"tenant": "acme"}})), nil)
}
