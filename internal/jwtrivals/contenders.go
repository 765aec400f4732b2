package main

import (
	"crypto/sha256"
	"fmt"
)

// contender finds the tenants of tokens that an issuer made.
type contender struct {
	name   string
	issuer issuer
	find   find
}

func contend(name string, i issuer, system func(issuer) find) contender {
	return contender{name: name, issuer: i, find: system(i)}
}

var (
	remembered      = contend("jwttenant, HS256, remembered", hs256, newRemembered)
	rememberedRS256 = contend("jwttenant, RS256, remembered", rs256, newRemembered)
	rememberedES256 = contend("jwttenant, ES256, remembered", es256, newRemembered)
	rememberedEdDSA = contend("jwttenant, EdDSA, remembered", eddsa, newRemembered)
	unremembered    = contend("jwttenant, HS256, not remembered", hs256, newUnremembered)
	gate            = contend("jwttenant, HS256, remembered, in Gate.Tenant", hs256, newGate)

	golangHS256 = contend("golang-jwt, HS256, claims as a struct", hs256, newParser)
	golangRS256 = contend("golang-jwt, RS256, claims as a struct", rs256, newParser)
	golangES256 = contend("golang-jwt, ES256, claims as a struct", es256, newParser)
	golangEdDSA = contend("golang-jwt, EdDSA, claims as a struct", eddsa, newParser)

	jwtauthBoth   = contend("jwtauth, HS256, Verifier and Authenticator", hs256, newJWTAuth)
	auth0CheckJWT = contend("auth0, HS256, CheckJWT", hs256, newCheckJWT)

	// contenders are all, in the order in which they are measured and printed.
	contenders = []contender{
		remembered, rememberedRS256, rememberedES256, rememberedEdDSA,
		unremembered,
		contend("jwttenant, RS256, not remembered", rs256, newUnremembered),
		contend("jwttenant, ES256, not remembered", es256, newUnremembered),
		contend("jwttenant, EdDSA, not remembered", eddsa, newUnremembered),
		golangHS256, golangRS256, golangES256, golangEdDSA,
		contend("golang-jwt, HS256, claims as a map", hs256, newMapParser),
		contend("jwtauth, HS256, VerifyRequest alone", hs256, newVerifyRequest),
		contend("auth0, HS256, ValidateToken alone", hs256, newValidateToken),
		gate, jwtauthBoth, auth0CheckJWT,
	}
)

// subject is what is measured: start returns an operation, for one goroutine to repeat.
type subject struct {
	name  string
	start func() func()
}

// hash is what it takes at least to recognize a token of which no more than its SHA-256 is kept.
var hash = subject{"SHA-256 of the token, HS256", startHash}

// subjects are the contenders, each with one token again and again, and what they are compared with.
var subjects = func() []subject {
	all := []subject{hash}
	for _, c := range contenders {
		all = append(all, subject{c.name, func() func() { return c.start(1) }})
	}
	const many = 1000
	return append(all, subject{
		fmt.Sprintf("%s, %d in turn", remembered.name, many),
		func() func() { return remembered.start(many) },
	})
}()

func startHash() func() {
	text := []byte(hs256.token("t0", nil))
	return func() { sha256.Sum256(text) }
}

// start returns what finds the tenants of so many tokens in turn, each of which has been found once before.
func (c contender) start(tenants int) func() {
	exchanges := make([]*exchange, tenants)
	ids := make([]string, tenants)
	for i := range exchanges {
		ids[i] = fmt.Sprint("t", i)
		exchanges[i] = newExchange(c.issuer.token(ids[i], nil))
	}
	i := 0
	operation := func() {
		if got := c.ask(exchanges[i]); got != ids[i] {
			panic(c.name + " did not find the tenant, and refusals are not what is measured")
		}
		if i++; i == tenants {
			i = 0
		}
	}
	for range exchanges {
		operation()
	}
	return operation
}

// ask returns the ID of the exchange's tenant; "": the token was refused.
func (c contender) ask(x *exchange) string {
	x.tenant = ""
	c.find(x)
	return x.tenant
}
