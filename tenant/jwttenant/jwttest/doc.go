// Package jwttest mints tokens, for tests of services that find their tenants with package jwttenant.
//
// An [Issuer] has a key of its own, made anew each time. Give its [Issuer.Config] to the resolver under test in place of
// the real issuer's, and it mints what the real one would:
//
//	issuer := jwttest.New(productionIssuer) // or jwttenant.Issuer{}, for one that is made up
//	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{issuer.Config()}})
//	...
//	handler.ServeHTTP(w, issuer.Authorize(r, tenant.Tenant{ID: "acme", Tier: "pro"}))
//
// The keys of the real issuer are not looked at then: that they are right shows where the service itself starts.
//
// Tokens that must be refused come the same way: [Expired], or any claim set to what it should not be.
//
// Most tests want no more. Where a test is about the keys themselves (that the service starts while its issuer is down,
// says so on /readyz, and lives through a rotation), the issuer is also the handler of a server that publishes them:
//
//	server := httptest.NewTLSServer(issuer)
//	config := issuer.Config()
//	config.Keys = jwttenant.JWKS(server.URL, jwttenant.JWKSConfig{Transport: server.Client().Transport})
//	...
//	issuer.Rotate()
//
// For [jwttenant.Discovery] the issuer's name has to lead to the server. The transport of package httptest goes there for
// all names under example.com, so "https://id.example.com/" is one.
package jwttest
