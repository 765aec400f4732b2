package jwttenant

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// issuer is an [Issuer] that [New] found nothing wrong with, under one of its names.
type issuer struct {
	name          string
	audience      string
	audienceClaim string // beside aud; "" none
	algorithms    []*algorithm
	keys          keySet
	required      []requiredClaim
	tenantClaim   []string
	tenantInteger bool
	tenantPrefix  string
	tenantSelect  func(*http.Request, []string) (string, bool)
	tierClaim     []string
	tenants       map[string]struct{} // nil: any
	rfc9068       bool

	directoryClaim, directory string // the claim in the template of the name, and what it must be; "" no template
}

// judge returns nil if all about t, whose iss is the issuer's, is good for this service at the time now, but for the
// signature. That comes last, because it costs more than all the rest.
func (i *issuer) judge(t *token, now time.Time, leeway time.Duration) error {
	at := slices.IndexFunc(i.algorithms, func(a *algorithm) bool { return a.name == t.alg })
	if at < 0 {
		return errAlgorithm
	}
	t.algorithm = i.algorithms[at]
	if !i.acceptsType(t.typ) {
		return errType
	}
	if err := checkTimes(t.claims, now, leeway); err != nil {
		return err
	}
	if err := i.checkClaims(t.claims); err != nil {
		return err
	}
	if keys, ok := i.keys.(preparingKeys); ok {
		return keys.prepare(t)
	}
	return nil
}

// checkClaims judges the claims that say what the token is for.
func (i *issuer) checkClaims(claims object) error {
	if i.directoryClaim != "" {
		if value, _ := text(claims.at(i.directoryClaim)); value != i.directory {
			return errDirectory
		}
	}
	aud := claims.at("aud")
	if aud == "" && i.audienceClaim != "" {
		aud = claims.at(i.audienceClaim)
	}
	if !hasAudience(aud, i.audience) {
		return errAudience
	}
	for _, r := range i.required {
		if err := r.check(claims); err != nil {
			return err
		}
	}
	for _, name := range [...]string{"sub", "jti"} {
		if value := claims.at(name); value != "" && value[0] != '"' {
			return errNotText
		}
	}
	if i.rfc9068 && !hasAccessTokenClaims(claims) {
		return errProfile
	}
	return nil
}

// acceptsType judges typ, a media type without regard to case, with or without "application/" (RFC 7515, 4.1.9). A typ
// of its own keeps the kinds of tokens of one issuer apart (RFC 8725, 3.11); "JWT" says nothing about the kind.
func (i *issuer) acceptsType(typ string) bool {
	const prefix = "application/"
	if len(typ) > len(prefix) && strings.EqualFold(typ[:len(prefix)], prefix) {
		typ = typ[len(prefix):]
	}
	return strings.EqualFold(typ, "at+jwt") || !i.rfc9068 && (typ == "" || strings.EqualFold(typ, "JWT"))
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
