// Package provider has the issuers of well-known products, for package jwttenant: [Auth0], [Clerk], [Cognito],
// [EntraID], [Keycloak], [Supabase] and [WorkOS].
//
//	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{
//		provider.Auth0{Domain: "exampleco.eu.auth0.com", Audience: "https://api.example.com/"}.Issuer(),
//	}})
//
// Each is a struct with what differs from one customer of the product to the next. Its method Issuer knows the rest: the
// exact iss, where the keys are, what says that a token is for this service, and which claim has the tenant. It returns a
// plain struct that may be changed, for what the product leaves to its customers:
//
//	issuer := provider.Auth0{...}.Issuer()
//	issuer.TierClaim = []string{"https://example.com/plan"}
//
// They accept access tokens and session tokens, which are for services, and refuse the ID tokens that the same product
// signs with the same keys, which are for the application that users log in to. The tenant comes from claims that users
// cannot write. A token without a tenant, such as that of a user who has chosen no organization, is forbidden.
//
// A setting of an impossible form is an error from [jwttenant.New], which names it and does not repeat it. Whether there
// is such a domain or client shows when the keys are fetched: see [jwttenant.Resolver.Ready].
//
// What has to be switched on at each of them, and how its tokens look, is in docs/providers.md.
package provider
