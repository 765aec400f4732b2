package jwttenant

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// issuer is an [Issuer] that [New] found nothing wrong with.
type issuer struct {
	audience    string
	algorithms  []*algorithm
	keys        keySet
	tenantClaim []string
	tierClaim   []string
	tenants     map[string]struct{} // nil: any
	accessToken bool
}

// verify returns nil if t, whose iss is the issuer's, is good for this service at the time now. The signature comes
// last, because it costs more than all the rest.
func (i *issuer) verify(t *token, now time.Time, leeway time.Duration) error {
	at := slices.IndexFunc(i.algorithms, func(a *algorithm) bool { return a.name() == t.alg })
	if at < 0 {
		return errAlgorithm
	}
	if !i.acceptsType(t.typ) {
		return errType
	}
	if err := checkTimes(t.claims, now, leeway); err != nil {
		return err
	}
	if !hasAudience(t.claims.at("aud"), i.audience) {
		return errAudience
	}
	for _, name := range [...]string{"sub", "jti"} {
		if value := t.claims.at(name); value != "" && value[0] != '"' {
			return errNotText
		}
	}
	if i.accessToken && !hasAccessTokenClaims(t.claims) {
		return errProfile
	}
	return i.keys.verify(i.algorithms[at], t)
}

// acceptsType judges typ, a media type without regard to case, with or without "application/" (RFC 7515, 4.1.9). A typ
// of its own keeps the kinds of tokens of one issuer apart (RFC 8725, 3.11); "JWT" says nothing about the kind.
func (i *issuer) acceptsType(typ string) bool {
	const prefix = "application/"
	if len(typ) > len(prefix) && strings.EqualFold(typ[:len(prefix)], prefix) {
		typ = typ[len(prefix):]
	}
	return strings.EqualFold(typ, "at+jwt") || !i.accessToken && (typ == "" || strings.EqualFold(typ, "JWT"))
}

// checkTimes judges exp, nbf and iat (RFC 7519, 4.1.4 to 4.1.6).
func checkTimes(claims object, now time.Time, leeway time.Duration) error {
	expiry, ok := numericDate(claims.at("exp"))
	if !ok {
		return errTime
	}
	if !now.Before(expiry.Add(leeway)) {
		return errExpired
	}
	for _, name := range [...]string{"nbf", "iat"} {
		value := claims.at(name)
		if value == "" {
			continue
		}
		start, ok := numericDate(value)
		if !ok {
			return errTime
		}
		if start.After(now.Add(leeway)) {
			return errTooEarly
		}
	}
	return nil
}

// numericDate reads value as seconds since 1970, up to the year 9999 (RFC 7519, 2).
func numericDate(value string) (time.Time, bool) {
	const end = 253_402_300_800
	// Of all JSON, ParseFloat takes only the numbers.
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || f < 0 || f >= end {
		return time.Time{}, false
	}
	seconds, fraction := math.Modf(f)
	return time.Unix(int64(seconds), int64(fraction*1e9)), true
}

// hasAudience reports whether aud is audience, or a list of texts with audience among them (RFC 7519, 4.1.3).
func hasAudience(aud, audience string) bool {
	if one, ok := text(aud); ok {
		return one == audience
	}
	found := false
	for _, element := range elements(aud) {
		one, ok := text(element)
		if !ok {
			return false
		}
		found = found || one == audience
	}
	return found
}

// hasAccessTokenClaims reports whether what RFC 9068 (2.2) requires beyond iss, exp and aud is there.
func hasAccessTokenClaims(claims object) bool {
	for _, name := range [...]string{"sub", "client_id", "jti"} {
		if s, ok := text(claims.at(name)); !ok || s == "" {
			return false
		}
	}
	return claims.at("iat") != ""
}

// tenant returns whom t speaks for. Its tier is that of the tier claim, if that is a tier's name; ignored says that
// there is one, and is not.
func (i *issuer) tenant(t *token) (speaksFor tenant.Tenant, ignored bool, err error) {
	id, ok := text(t.claims.at(i.tenantClaim...))
	if !ok || !tenant.ValidID(id) {
		return tenant.Tenant{}, false, errNoTenant
	}
	if i.tenants != nil {
		if _, ok := i.tenants[id]; !ok {
			return tenant.Tenant{}, false, errOtherTenant
		}
	}
	// ID and Tier are copied: limiters remember them for long, and a part of the claims would keep all of them.
	speaksFor = tenant.Tenant{ID: strings.Clone(id), Claims: t.payload}
	speaksFor.Subject, _ = text(t.claims.at("sub"))
	if issued, ok := numericDate(t.claims.at("iat")); ok {
		speaksFor.TierAsOf = issued
	}
	if len(i.tierClaim) == 0 {
		return speaksFor, false, nil
	}
	claim := t.claims.at(i.tierClaim...)
	if tier, ok := text(claim); ok && tenant.ValidID(tier) {
		speaksFor.Tier = strings.Clone(tier)
	}
	return speaksFor, claim != "" && speaksFor.Tier == "", nil
}
