package tenant

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Tenant is who is asking, and on which plan. It is a value: copy it freely.
//
// In slog, and in fmt with every verb that is for text (%v, %+v, %#v, %s, %q, %x), a Tenant shows its ID and Tier only,
// so that a log line does not leak the claims of a token. Two ways around that are open, because neither calls methods:
// fmt prints all of a Tenant that it finds in an unexported field of another struct, and encoding/json encodes all of it.
type Tenant struct {
	// ID names the tenant; see the package comment for its alphabet.
	ID string
	// Tier names the plan that was asserted of the tenant, for example by a claim. Empty asserts nothing. In the
	// context of a request that passed the gate it is the tier that was applied.
	Tier string
	// TierAsOf is when Tier was asserted (a token's iat). Zero loses to any other time.
	TierAsOf time.Time
	// Subject is who asks inside the tenant (a token's sub). Empty: unknown.
	Subject string
	// Claims are the verified claims as JSON, so that no handler parses the token again; see [Tenant.DecodeClaims].
	// Empty where the credential has none.
	Claims string
}

// ErrNoClaims is returned by [Tenant.DecodeClaims] for a tenant whose credential carries no claims.
var ErrNoClaims = errors.New("tenant: no claims")

// DecodeClaims unmarshals the verified claims into v, as encoding/json does: into a struct, also from claims whose
// names differ in case only. Where that matters decode into a map.
func (t Tenant) DecodeClaims(v any) error {
	if t.Claims == "" {
		return ErrNoClaims
	}
	if err := json.Unmarshal([]byte(t.Claims), v); err != nil {
		return fmt.Errorf("tenant: claims: %w", err)
	}
	return nil
}

// String returns "id (tier)", or "id" where no tier is set.
func (t Tenant) String() string {
	if t.Tier == "" {
		return t.ID
	}
	return t.ID + " (" + t.Tier + ")"
}

// GoString is [Tenant.String]: %#v must not print the claims either.
func (t Tenant) GoString() string { return t.String() }

// LogValue is a group of id and tier.
func (t Tenant) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", t.ID), slog.String("tier", t.Tier))
}

// Assertion returns what t says about its tier.
func (t Tenant) Assertion() Assertion { return Assertion{Tier: t.Tier, AsOf: t.TierAsOf} }

// Assertion is a tier that was said to be a tenant's, and when. Limiters and pools remember one for each tenant they
// know. An empty Tier asserts nothing, whatever AsOf is.
type Assertion struct {
	Tier string
	AsOf time.Time
}

// Merge returns the assertion that holds once next was seen after a: next, unless it asserts nothing or is older than
// one that a makes. Of two as old as each other the one seen last holds.
func (a Assertion) Merge(next Assertion) Assertion {
	if next.Tier == "" || a.Tier != "" && next.AsOf.Before(a.AsOf) {
		return a
	}
	return next
}
