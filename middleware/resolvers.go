package middleware

import (
	"reflect"
	"slices"
	"strings"

	"github.com/tenantgate/tenantgate/tenant"
)

// resolvers are r and all that it asks, each once, as far as it says by a method Unwrap() []tenant.Resolver.
func resolvers(r tenant.Resolver) (all []tenant.Resolver) {
	seen := map[uintptr]bool{}
	var visit func(tenant.Resolver)
	visit = func(r tenant.Resolver) {
		v := reflect.ValueOf(r)
		if !v.IsValid() {
			return
		}
		if v.Kind() == reflect.Pointer { // what else there is has no counts of its own
			if seen[v.Pointer()] {
				return
			}
			seen[v.Pointer()] = true
		}
		all = append(all, r)
		if outer, ok := r.(interface{ Unwrap() []tenant.Resolver }); ok {
			for _, inner := range outer.Unwrap() {
				visit(inner)
			}
		}
	}
	visit(r)
	return all
}

// schemesOf returns the authentication schemes of r and all that it asks, in which order they are asked.
func schemesOf(r tenant.Resolver) (schemes []string) {
	for _, inner := range resolvers(r) {
		if c, ok := inner.(interface{ Challenge() string }); ok && !slices.Contains(schemes, c.Challenge()) {
			schemes = append(schemes, c.Challenge())
		}
	}
	if len(schemes) == 0 {
		schemes = []string{bearer}
	}
	return schemes
}

const bearer = "Bearer"

// challenge returns WWW-Authenticate (RFC 9110, 11.6.1). Only the scheme Bearer has the code (RFC 6750, 3).
func challenge(schemes []string, code string) string {
	all := slices.Clone(schemes)
	for i, scheme := range all {
		if code != "" && strings.EqualFold(scheme, bearer) {
			all[i] += ` error="` + code + `"`
		}
	}
	return strings.Join(all, ", ")
}
