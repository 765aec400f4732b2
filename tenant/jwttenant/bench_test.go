package jwttenant_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// typicalClaims are claims of the size that identity providers issue: the token has some 700 bytes.
func typicalClaims() claims {
	return goodClaims().with(claims{
		"nbf": 1_700_000_000, "jti": "3d0f8f2e-5f0b-4a42-9a39-6a4c1e8f7c11", "client_id": "web-client",
		"scope": "orders:read orders:write invoices:read profile email", "email": "someone@acme.example",
		"realm_access": claims{"roles": []string{"default-roles", "offline_access", "uma_authorization"}},
	})
}

func benchmarkResolve(b *testing.B, r *jwttenant.Resolver, req *http.Request, accepted bool) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Resolve(req); (err == nil) != accepted {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	payload := typicalClaims().json()
	for _, bench := range []struct {
		alg  string
		keys jwttenant.KeySource
		key  any
	}{
		{"HS256", jwttenant.HMAC(secret), secret},
		{"RS256", publicKey("k", rsaKey().Public()), rsaKey()},
		{"ES256", publicKey("k", ecKey().Public()), ecKey()},
		{"EdDSA", publicKey("k", ed25519Key().Public()), ed25519Key()},
	} {
		r := newResolver(b, keyIssuer(bench.keys, bench.alg))
		good := mint(bench.alg, bench.key, `{"alg":"`+bench.alg+`","typ":"JWT","kid":"k"}`, payload)
		b.Run(bench.alg, func(b *testing.B) { benchmarkResolve(b, r, request(good), true) })
		b.Run(bench.alg+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				req := request(good)
				for pb.Next() {
					if _, err := r.Resolve(req); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func BenchmarkResolve_Refused(b *testing.B) {
	r := newResolver(b, hmacIssuer())
	var names strings.Builder
	for i := range 800 {
		names.WriteString(`"` + strconv.FormatInt(int64(i), 36) + `":1,`)
	}
	for name, bad := range map[string]string{
		"oversize":   strings.Repeat(".", 1<<20),
		"dots":       strings.Repeat(".", 8192),
		"expired":    token(claims{"exp": 1}),
		"many names": signed(`{"alg":"HS256"}`, beside(names.String()+`"0":1`)),
		"tiny":       signed(`{"alg":"HS256"}`, beside(`"a":[`+strings.Repeat("1e-323,", 800)+`0]`)),
		"halves":     signed(`{"alg":"HS256"}`, beside(`"a":[`+strings.Repeat("9007199254740993."+strings.Repeat("0", 40)+"1,", 80)+`0]`)) + "A",
	} {
		b.Run(name, func(b *testing.B) { benchmarkResolve(b, r, request(bad), false) })
	}
}
