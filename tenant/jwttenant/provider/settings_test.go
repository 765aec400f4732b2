package provider_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

// offline keeps the tests of settings from asking real products for their keys.
var offline = jwttenant.JWKSConfig{Transport: noNetwork{}, Logger: slog.New(slog.DiscardHandler)}

type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("offline") }

// Good settings, to be changed one at a time.
var (
	auth0    = provider.Auth0{Domain: "exampleco.eu.auth0.com", Audience: "https://example-api/", Keys: offline}
	clerk    = provider.Clerk{Domain: "clerk.example.com", Origins: []string{"https://app.example.com"}, Keys: offline}
	cognito  = provider.Cognito{PoolID: "eu-west-1_aBcDeFgHi", ClientIDs: []string{"57cbishk4j24"}, Keys: offline}
	entraID  = provider.EntraID{ClientID: application, Directories: []string{directory}, Keys: offline}
	keycloak = provider.Keycloak{Realm: "https://id.example.com/realms/example", Audience: "orders-api", Keys: offline}
	supabase = provider.Supabase{Domain: "abcdefghijklmnopqrst.supabase.co", Keys: offline}
	workOS   = provider.WorkOS{ClientID: "client_123456789", Keys: offline}
)

// changed returns the issuer of settings that differ from the given ones in change.
func changed[T interface{ Issuer() jwttenant.Issuer }](settings T, change func(*T)) jwttenant.Issuer {
	change(&settings)
	return settings.Issuer()
}

func TestIssuer_GoodSettings(t *testing.T) {
	for name, issuer := range map[string]jwttenant.Issuer{
		"Auth0": auth0.Issuer(),
		"Clerk": clerk.Issuer(),
		"Clerk in development": changed(clerk, func(c *provider.Clerk) {
			c.Domain, c.Origins = "your-app.clerk.accounts.dev", []string{"http://localhost:3000"}
		}),
		"Cognito":  cognito.Issuer(),
		"Entra ID": entraID.Issuer(),
		"Keycloak": keycloak.Issuer(),
		"Keycloak on the loopback": changed(keycloak, func(k *provider.Keycloak) {
			k.Realm = "http://localhost:8080/auth/realms/example"
		}),
		"Supabase": supabase.Issuer(),
		"WorkOS":   workOS.Issuer(),
	} {
		t.Run(name, func(t *testing.T) {
			resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer}})
			if err != nil {
				t.Fatalf("New: %v", err)
			}
			resolver.Close()

			// Tests of services have the issuer's tokens from jwttest; they must be as good as the real ones.
			fake := jwttest.New(issuer)
			issuer.Keys = fake.Config().Keys
			if resolver, err = jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer}}); err != nil {
				t.Fatalf("New with the keys of jwttest: %v", err)
			}
			r := fake.Authorize(httptest.NewRequest(http.MethodGet, "/orders", nil), tenant.Tenant{ID: directory})
			if got, err := resolver.Resolve(r); err != nil || got.ID != directory {
				t.Errorf("token of jwttest: tenant %q, error %v, want %q", got.ID, err, directory)
			}
		})
	}
}

// Each line of an error of New is about one field of one issuer, and names both.
func TestIssuer_WrongSettingsAreOneLine(t *testing.T) {
	wrong := changed(entraID, func(e *provider.EntraID) {
		e.ClientID, e.Directories, e.Host = "", []string{"common", directory, "organizations"}, "https://"
	})
	_, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{auth0.Issuer(), wrong}})
	const want = "jwttenant: Issuers[1].Err: provider: EntraID.ClientID is not a GUID in lower case; " +
		"EntraID.Directories[0] is not a GUID in lower case; EntraID.Directories[2] is not a GUID in lower case; " +
		"EntraID.Host is not a host name in lower case, without https:// and path"
	if err == nil || !slices.Contains(strings.Split(err.Error(), "\n"), want) {
		t.Errorf("error %q, want the line %q", err, want)
	}
}

func TestIssuer_WrongSettingIsErrorOfNew(t *testing.T) {
	domain := func(domain string) jwttenant.Issuer {
		return changed(auth0, func(a *provider.Auth0) { a.Domain = domain })
	}
	origins := func(origins ...string) jwttenant.Issuer {
		return changed(clerk, func(c *provider.Clerk) { c.Origins = origins })
	}
	clients := func(ids ...string) jwttenant.Issuer {
		return changed(cognito, func(c *provider.Cognito) { c.ClientIDs = ids })
	}
	directories := func(ids ...string) jwttenant.Issuer {
		return changed(entraID, func(e *provider.EntraID) { e.Directories = ids })
	}
	realm := func(url string) jwttenant.Issuer {
		return changed(keycloak, func(k *provider.Keycloak) { k.Realm = url })
	}
	for _, c := range []struct {
		name   string
		issuer jwttenant.Issuer
		want   string
	}{
		{"nothing", provider.Auth0{}.Issuer(), "jwttenant: Issuers[0].Err: provider: Auth0.Domain is not a host name"},
		{"no audience", changed(auth0, func(a *provider.Auth0) { a.Audience = "" }), "Issuers[0].Audience is empty"},
		{"audience is an application", changed(auth0, func(a *provider.Auth0) {
			a.Audience = "ENDmmAJsbwI1hOG1KPJddQ8LHjV6kLkV"
		}), "Auth0.Audience is a client ID"},
		{"domain is a URL", domain("https://sentinel.auth0.com/"), "Auth0.Domain"},
		{"domain with a slash", domain("sentinel.auth0.com/"), "Auth0.Domain"},
		{"domain with a port", domain("sentinel.auth0.com:443"), "Auth0.Domain"},
		{"domain with capitals", domain("Sentinel.auth0.com"), "Auth0.Domain"},
		{"domain with a line break", domain("sentinel.auth0.com\n"), "Auth0.Domain"},
		{"domain is a template", domain("{tenant}.auth0.com"), "Auth0.Domain"},
		{"domain is one word", domain("sentinel"), "Auth0.Domain"},

		{"no origin", origins(), "provider: Clerk.Origins is empty"},
		{"origin is empty", origins(""), "Clerk.Origins[0]"},
		{"origin with a slash", origins("https://app.example.com", "https://sentinel.example/"), "Clerk.Origins[1]"},
		{"origin is a host", origins("sentinel.example.com"), "Clerk.Origins[0]"},
		{"Clerk's key", changed(clerk, func(c *provider.Clerk) { c.Domain = "sk_live_sentinel" }), "Clerk.Domain"},

		{"pool is a client", changed(cognito, func(c *provider.Cognito) { c.PoolID = "57sentinel" }), "Cognito.PoolID"},
		{"no app client", clients(), "Cognito.ClientIDs is empty"},
		{"app client is empty", clients("57cbishk4j24pabc1234567890", ""), "Cognito.ClientIDs[1]"},
		{"custom attribute", changed(cognito, func(c *provider.Cognito) { c.TenantClaim = "custom:sentinel" }),
			"provider: Cognito.TenantClaim is a custom attribute"},

		{"address of the API", changed(entraID, func(e *provider.EntraID) { e.ClientID = "api://sentinel" }),
			"EntraID.ClientID is not a GUID"},
		{"no directory", directories(), "EntraID.Directories is empty"},
		{"all directories", directories("common"), "EntraID.Directories[0] is not a GUID"},
		{"domain of a directory", directories(directory, "sentinel.onmicrosoft.com"), "EntraID.Directories[1]"},
		{"personal accounts", directories("9188040d-6c67-4c5b-b112-36a304b66dad"),
			"EntraID.Directories has the one of all personal accounts"},
		{"no client", changed(entraID, func(e *provider.EntraID) { e.Clients = []string{} }),
			"EntraID.Clients is empty"},
		{"name of a client", changed(entraID, func(e *provider.EntraID) { e.Clients = []string{"sentinel"} }),
			"EntraID.Clients[0] is not a GUID"},
		{"address of a cloud", changed(entraID, func(e *provider.EntraID) { e.Host = "https://sentinel.us" }),
			"EntraID.Host is not a host name"},

		{"name of a realm", realm("sentinel"), "Keycloak.Realm"},
		{"realm with a slash", realm("https://sentinel.example.com/realms/example/"), "Keycloak.Realm"},
		{"realm and more", realm("https://sentinel.example.com/realms/example/account"), "Keycloak.Realm"},
		{"no realm", realm("https://sentinel.example.com"), "Keycloak.Realm"},
		{"audience of all tokens", changed(keycloak, func(k *provider.Keycloak) { k.Audience = "account" }),
			"provider: Keycloak.Audience is account"},
		{"realm in clear text", realm("http://id.example.com/realms/example"), "https"},

		{"Supabase's key", changed(supabase, func(s *provider.Supabase) { s.Domain = "sb_secret_sentinel" }),
			"Supabase.Domain is not a host name"},
		{"WorkOS' key", changed(workOS, func(w *provider.WorkOS) { w.ClientID = "sk_live_sentinel" }), "WorkOS.ClientID"},
		{"fetching", changed(workOS, func(w *provider.WorkOS) { w.Keys.MaxBytes = -1 }), "MaxBytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{c.issuer}})
			if err == nil {
				resolver.Close()
				t.Fatalf("no error, want one with %q", c.want)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want one with %q", err, c.want)
			}
			if c.issuer.Err != nil { // which no change of the issuer's takes back
				c.issuer.Keys = jwttenant.JWKS("https://keys.internal/", jwttenant.JWKSConfig{})
				if _, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{c.issuer}}); !errors.Is(err, c.issuer.Err) {
					t.Errorf("with other keys: error %v, want %v", err, c.issuer.Err)
				}
			}
			if strings.Contains(strings.ToLower(err.Error()), "sentinel") {
				t.Errorf("error %q repeats the setting", err)
			}
		})
	}
}
