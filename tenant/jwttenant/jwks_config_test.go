package jwttenant_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func TestNew_NamesWhatIsWrongWithFetchedKeys(t *testing.T) {
	network := jwttenant.JWKSConfig{Transport: publishing()}
	jwks := func(url string) jwttenant.Issuer { return keyIssuer(jwttenant.JWKS(url, network), "ES256") }
	with := func(cfg jwttenant.JWKSConfig) jwttenant.Issuer {
		cfg.Transport = network.Transport
		return keyIssuer(jwttenant.JWKS(keysURL, cfg), "ES256")
	}
	discovering := func(issuer string) jwttenant.Issuer {
		i := keyIssuer(jwttenant.Discovery(network), "ES256")
		i.Issuer = issuer
		return i
	}
	template := discovering("https://id.example.com/{tid}")
	template.IssuerValues = []string{"a"}
	negative := jwttenant.JWKSConfig{
		Refresh: -1, MaxRefresh: -1, Cooldown: -1, MaxStale: -1, Timeout: -1, MaxBytes: -1,
	}
	const endless = math.MaxInt64
	great := jwttenant.JWKSConfig{
		Refresh: endless, MaxRefresh: endless, Cooldown: endless, MaxStale: endless, Timeout: endless, MaxBytes: endless,
		MaxWait: endless,
	}
	cooldown := jwttenant.JWKSConfig{Cooldown: time.Hour}
	settings := []string{"Refresh", "MaxRefresh", "Cooldown", "MaxStale", "Timeout", "MaxBytes"}
	several := keyIssuer(jwttenant.JWKS("", jwttenant.JWKSConfig{MaxBytes: -1}), "HS256")
	hmac := with(jwttenant.JWKSConfig{})
	hmac.Algorithms = []string{"HS256"}
	const noHost, noTLS = "the URL is none with a host", "the URL is not https"
	for name, c := range map[string]struct {
		issuer jwttenant.Issuer
		want   []string // nil: nothing is wrong
	}{
		"https":                   {jwks("https://id.example.com/keys?p=1"), nil},
		"https in upper case":     {jwks("HTTPS://id.example.com/keys"), nil},
		"http on 127.0.0.1":       {jwks("http://127.0.0.1:8080/keys"), nil},
		"http on 127.9.9.9":       {jwks("http://127.9.9.9/keys"), nil},
		"http on ::1":             {jwks("http://[::1]:8080/keys"), nil},
		"http on localhost":       {jwks("http://localhost:8080/keys"), nil},
		"http":                    {jwks("http://id.example.com/keys"), []string{noTLS}},
		"http on like localhost":  {jwks("http://localhost.example.com/keys"), []string{noTLS}},
		"http on like 127.0.0.1":  {jwks("http://127.0.0.1.example.com/keys"), []string{noTLS}},
		"http on 0.0.0.0":         {jwks("http://0.0.0.0/keys"), []string{noTLS}},
		"http on a private host":  {jwks("http://10.0.0.1/keys"), []string{noTLS}},
		"another scheme":          {jwks("ftp://127.0.0.1/keys"), []string{noTLS}},
		"no URL":                  {jwks(""), []string{noHost}},
		"no host":                 {jwks("https:///keys"), []string{noHost}},
		"port alone":              {jwks("https://:443/keys"), []string{noHost}},
		"opaque":                  {jwks("https:id.example.com"), []string{noHost}},
		"path":                    {jwks("/keys"), []string{noHost}},
		"not parsable":            {jwks("https://id.example.com:port/"), []string{noHost}},
		"user":                    {jwks("https://needle@id.example.com/"), []string{"user info"}},
		"password":                {jwks("https://a:needle@id.example.com/"), []string{"user info"}},
		"fragment":                {jwks("https://id.example.com/#needle"), []string{"fragment"}},
		"empty fragment":          {jwks("https://id.example.com/#"), []string{"fragment"}},
		"HMAC":                    {hmac, []string{"HMAC"}},
		"negative":                {with(negative), settings},
		"endless":                 {with(great), append(settings, "MaxWait")},
		"negative MaxWait":        {with(jwttenant.JWKSConfig{MaxWait: -1}), nil},
		"Refresh above its bound": {with(jwttenant.JWKSConfig{Refresh: 2, MaxRefresh: 1}), []string{"Refresh is 2ns"}},
		"Refresh below Cooldown":  {with(jwttenant.JWKSConfig{Refresh: 1, Cooldown: 2}), []string{"Refresh is 1ns"}},
		"Cooldown above all":      {with(cooldown), []string{"Refresh is 15m0s", "Cooldown"}},
		"MaxStale too short":      {with(jwttenant.JWKSConfig{MaxStale: time.Hour}), []string{"MaxStale is 1h0m0s"}},
		"MaxStale just enough":    {with(jwttenant.JWKSConfig{MaxStale: time.Hour + 5*time.Second}), nil},
		"long MaxRefresh":         {with(jwttenant.JWKSConfig{MaxRefresh: 48 * time.Hour}), nil},
		"MaxBytes":                {with(jwttenant.JWKSConfig{MaxBytes: 1<<26 + 1}), []string{"MaxBytes is 67108865"}},
		"several":                 {several, []string{"MaxBytes", noHost, "HMAC"}},

		"Discovery":                 {discovering("https://id.example.com/a"), nil},
		"Discovery on localhost":    {discovering("http://localhost:8080"), nil},
		"Discovery without TLS":     {discovering("http://id.example.com"), []string{noTLS}},
		"Discovery of no URL":       {discovering("orders"), []string{noHost}},
		"Discovery of a template":   {template, []string{"one name, not a template"}},
		"Discovery with a query":    {discovering("https://id.example.com/?a=b"), []string{"without a query"}},
		"Discovery with a fragment": {discovering("https://id.example.com/#a"), []string{"fragment"}},
		"Discovery with a user":     {discovering("https://needle@id.example.com/"), []string{"user info"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := jwttenant.New(oneIssuer(c.issuer))
			if r != nil {
				r.Close()
			}
			if (err == nil) != (c.want == nil) {
				t.Fatalf("New: error %v, want one: %v", err, c.want != nil)
			}
			if err == nil {
				return
			}
			for _, want := range append(c.want, "jwttenant: Issuers[0].Keys: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("New: error %v, want %q in it", err, want)
				}
			}
			if strings.Contains(err.Error(), "needle") {
				t.Errorf("New: error %v has what is no business of a log", err)
			}
		})
	}
}

// TestNew_FetchesNothingIfItFails: what is wrong with one issuer keeps the keys of all others from being fetched.
func TestNew_FetchesNothingIfItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing()
		good := keyIssuer(jwttenant.JWKS(keysURL, jwttenant.JWKSConfig{Transport: p}), "ES256")
		good.AnyTenant = true
		_, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{good, {}}})
		if err == nil {
			t.Fatal("New: nil, want an error")
		}
		time.Sleep(time.Hour)
		checkFetches(t, p, 0)
	})
}
