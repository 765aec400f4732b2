// Package jwttenant finds the tenant of a request in a JSON Web Token that it has verified.
//
//	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{{
//		Issuer:      "https://id.example.com/",
//		Audience:    "orders-api",
//		Algorithms:  []string{"ES256"},
//		Keys:        jwttenant.JWKS("https://id.example.com/.well-known/jwks.json", jwttenant.JWKSConfig{}),
//		TenantClaim: []string{"tenant_id"},
//		TierClaim:   []string{"plan"},
//	}}})
//	...
//	resolver.Close() // when the service ends
//
// It reads one credential only: the token of the header "Authorization: Bearer", or of a cookie where [Config.Cookie]
// names one. Query and form are not looked at, and no header that names a tenant is trusted. Package provider has the
// issuers of well-known products; package jwttest mints tokens for tests of your own, and publishes and rotates the keys.
//
//   - [Config], [Issuer], [New]: who may say what, and what is remembered.
//   - [JWKS], [Discovery]: keys that are fetched, and [Resolver.Ready], [Resolver.Close] that go with them. [PublicKeys],
//     [HMAC], [Keyfunc]: keys that are there.
//   - [Config.Revoked]: tokens that are taken back before they expire.
//   - [OnlyTenant], [TenantOfHost]: tokens with several tenants.
//   - [Resolver.Stats]: counts. The gate has most of them among its metrics.
//
// # What is accepted
//
// A token passes if every one of these holds; the sections are those of RFC 8725 where no other is named.
//
//   - It is no longer than [Config.MaxTokenBytes] and made of three parts in base64url, each written in the one way
//     that is canonical. This is checked before anything is decoded.
//   - Header and claims are JSON objects in valid UTF-8 (3.7) in which no name occurs twice, at any depth. Names are
//     compared exactly.
//   - iss is one of [Config.Issuers] (3.8). From here on only that issuer's algorithms, keys and audience count.
//   - alg is one of the issuer's algorithms, in the same case (3.1), and the one that the key is for. There is no crit.
//     typ is absent, "JWT" or "at+jwt": a token that says it is something else is none of an API's (3.11, 3.12).
//     Keys, and addresses of keys, that the token itself brings along are ignored (3.10).
//   - exp is there and has not passed; nbf and iat, where they are there, have. [Config.Leeway] forgives clocks that
//     disagree. All three are numbers.
//   - aud is the issuer's [Issuer.Audience], or a list of texts with it (3.9). sub and jti, where there, are texts.
//     [Issuer.RequiredClaims] are there.
//   - One of the issuer's keys made the signature.
//   - The tenant claim is a valid tenant ID (see package tenant), and the issuer may speak for that tenant.
//   - It was not revoked.
//
// RFC 8725 asks that a key be used with one algorithm (3.1), that keys have enough entropy (3.5) and that no weak
// algorithm is used (3.2). Keys are held against that when they are configured or fetched, and those of a key function
// each time: HMAC secrets are at least as long as the hash (RFC 7518, 3.2), RSA keys have 2048 bits or more, and ES256,
// ES384 and ES512 are bound to P-256, P-384 and P-521.
//
// # What is remembered
//
// To verify a token costs more than all else that a gate does, so a good one is remembered, by its SHA-256, and looked up
// the next time. What may change meanwhile is asked each time: whether it has expired, is valid yet, or was revoked, and
// whether its key is still there. A token that is spelt in another way is another token. So is one with the other of the
// two signatures that ECDSA has for everything: list what is revoked by jti, sub or sid, and not by text.
//
// Only tokens with a good signature are remembered so, that name a tenant: at most [Config.MaxRemembered], and of one
// tenant [Config.MaxRememberedPerTenant], or of one set of tenants where tokens name several.
// Where there is no more room, the tenant with the most makes it. A token whose signature was bad, or that named no
// tenant, is remembered apart, for ten seconds, so that it costs nothing to send it over and over. No more than
// [Config.MaxVerifications] are verified at one time.
//
// # What a refusal says
//
// [Resolver.Resolve] returns an error that matches one of package tenant's, for the answer, and says the cause in its
// text, for the operator. Every cause is a fixed text: neither the token nor anything out of it gets into an error,
// except what a key function, or Revoked, puts there itself. Which rule spoke first is no part of the contract.
//
// # When not to use it
//
// It verifies no encrypted tokens (JWE) and no opaque tokens, and it asks no server whether a token was revoked: let the
// issuer make them short-lived, and use [Config.Revoked] for what cannot wait.
package jwttenant
