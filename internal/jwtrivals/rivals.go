package main

import (
	"context"
	"net/http"
	"strings"

	auth0 "github.com/auth0/go-jwt-middleware/v2"
	"github.com/auth0/go-jwt-middleware/v2/validator"
	"github.com/go-chi/jwtauth/v5"
	"github.com/golang-jwt/jwt/v5"
	jwx "github.com/lestrrat-go/jwx/v2/jwt"
)

// tenantClaims are those that are read beside the registered ones.
type tenantClaims struct {
	TenantID string `json:"tenant_id"`
	Plan     string `json:"plan"`
}

// Validate is asked for by auth0/go-jwt-middleware.
func (*tenantClaims) Validate(context.Context) error { return nil }

type allClaims struct {
	jwt.RegisteredClaims
	tenantClaims
}

// newParser returns golang-jwt, which leaves it to its user to take the token out of the request.
func newParser(i issuer) find {
	parser, key := golangJWT(i)
	return func(x *exchange) {
		var claims allClaims
		if _, err := parser.ParseWithClaims(bearer(x), &claims, key); err == nil {
			x.tenant = claims.TenantID
		}
	}
}

// newMapParser is newParser as most use it.
func newMapParser(i issuer) find {
	parser, key := golangJWT(i)
	return func(x *exchange) {
		if token, err := parser.Parse(bearer(x), key); err == nil {
			claims, _ := token.Claims.(jwt.MapClaims)
			x.tenant, _ = claims["tenant_id"].(string)
		}
	}
}

func golangJWT(i issuer) (*jwt.Parser, jwt.Keyfunc) {
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{i.alg}),
		jwt.WithIssuer(issuerName),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway),
	)
	return parser, func(*jwt.Token) (any, error) { return i.public, nil }
}

func bearer(x *exchange) string {
	return strings.TrimPrefix(x.request.Header.Get("Authorization"), "Bearer ")
}

func newAuth(i issuer) *jwtauth.JWTAuth {
	return jwtauth.New(i.alg, i.private, nil,
		jwx.WithIssuer(issuerName),
		jwx.WithAudience(audience),
		jwx.WithRequiredClaim(jwx.ExpirationKey),
		jwx.WithAcceptableSkew(leeway),
	)
}

// newVerifyRequest is what jwtauth's middleware calls.
func newVerifyRequest(i issuer) find {
	auth := newAuth(i)
	return func(x *exchange) {
		if token, err := jwtauth.VerifyRequest(auth, x.request, jwtauth.TokenFromHeader); err == nil {
			x.tenant = tenantOf(token)
		}
	}
}

// newJWTAuth is both middlewares of jwtauth. The handler takes the token out of the context itself: jwtauth.FromContext,
// which Authenticator has called already, would make a map of its claims once more.
func newJWTAuth(i issuer) find {
	auth := newAuth(i)
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := r.Context().Value(jwtauth.TokenCtxKey).(jwx.Token)
		w.(*exchange).tenant = tenantOf(token)
	})
	handler = jwtauth.Verifier(auth)(jwtauth.Authenticator(auth)(handler))
	return func(x *exchange) { handler.ServeHTTP(x, x.request) }
}

func tenantOf(token jwx.Token) string {
	claim, _ := token.Get("tenant_id")
	id, _ := claim.(string)
	return id
}

func newValidator(i issuer) *validator.Validator {
	key := func(context.Context) (any, error) { return i.public, nil }
	return must(validator.New(key, validator.SignatureAlgorithm(i.alg), issuerName, []string{audience},
		validator.WithAllowedClockSkew(leeway),
		validator.WithCustomClaims(func() validator.CustomClaims { return &tenantClaims{} }),
	))
}

// newValidateToken is what the middleware of auth0/go-jwt-middleware calls.
func newValidateToken(i issuer) find {
	v := newValidator(i)
	return func(x *exchange) {
		raw, err := auth0.AuthHeaderTokenExtractor(x.request)
		if err != nil {
			return
		}
		if claims, err := v.ValidateToken(x.request.Context(), raw); err == nil {
			x.tenant = tenantIn(claims)
		}
	}
}

func newCheckJWT(i issuer) find {
	handler := auth0.New(newValidator(i).ValidateToken).CheckJWT(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			w.(*exchange).tenant = tenantIn(r.Context().Value(auth0.ContextKey{}))
		}))
	return func(x *exchange) { handler.ServeHTTP(x, x.request) }
}

func tenantIn(claims any) string {
	return claims.(*validator.ValidatedClaims).CustomClaims.(*tenantClaims).TenantID
}
