package jwttenant

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tenantgate/tenantgate/tenant"
)

// Issuer is who issues tokens, and what it is trusted with. Package provider has those of well-known products.
type Issuer struct {
	// Issuer is the exact iss of the tokens. Required.
	//
	// Where one provider issues tokens for many directories of users, each under a name of its own, it is a template:
	// "https://login.example.com/{tid}/v2.0" with the name of a claim in braces. The claim's value then stands in iss,
	// and is one of IssuerValues.
	Issuer string
	// IssuerValues are the values that are accepted in a template. Required there, for anybody may have a directory.
	IssuerValues []string
	// Audience is this service, one of the names in aud. Required: without it, a token for any other service of the
	// issuer's would do here too.
	Audience string
	// AudienceClaim is the claim that has Audience in tokens without aud: some providers have only azp or client_id, which
	// say for which application, and not for which service, a token was issued. With "iss", which says neither,
	// RequiredClaims must. Empty: aud is required.
	AudienceClaim string
	// RequiredClaims are claims that a token must have, by name, and their values: a text that is one of the list. An empty
	// text in the list: the claim may be missing too. An empty list: any text will do, but for the empty one. They keep
	// apart the kinds of tokens that one issuer signs with the same keys: {"token_use": {"access"}}.
	RequiredClaims map[string][]string
	// Algorithms are the alg values that are accepted: of HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512,
	// ES256, ES384, ES512 and Ed25519, which is also called EdDSA. At least one, and HMAC (HS...) never beside another
	// kind. One for each kind of key is all an issuer should need.
	Algorithms []string
	// Keys verify the signatures. Required.
	Keys KeySource

	// TenantClaim is the path to the claim with the tenant's ID: {"o", "id"} is id inside of the claim o,
	// {"https://example.com/org"} one claim by its exact name. Required. A token without a valid ID there is forbidden.
	// The ID is a text, and one text: see TenantInteger and TenantSelect.
	TenantClaim []string
	// TenantInteger accepts a whole number too, 0 to 2^53-1, beyond which some who write JSON round: 42 is tenant "42",
	// and 42.0 is none.
	TenantInteger bool
	// TenantPrefix is what the claim has before each tenant's ID, such as "tenant:" in a list of groups. What does not
	// begin so names no tenant. Empty: nothing.
	TenantPrefix string
	// TenantSelect chooses where the claim is a list of texts, or an object, whose names then are the list: ids are
	// those that are tenants the issuer may speak for, at least one and each once. It is asked for each request. What it
	// returns must be one of ids; else, and where ok is false, the request is forbidden. See [OnlyTenant],
	// [TenantOfHost]. Nil: a list is forbidden.
	TenantSelect func(r *http.Request, ids []string) (id string, ok bool)
	// TierClaim is the path to the claim with the name of the tenant's tier. Empty: the issuer is not asked, and its
	// tokens assert no tier. A claim that is not the name of a tier is ignored, and counted.
	TierClaim []string
	// UserEditable are names in TenantClaim and TierClaim that stand for what users can edit themselves, such as
	// "user_metadata". A path that has one is an error unless it is listed here: who can edit it can be any tenant.
	UserEditable []string

	// Tenants are the only tenants that the issuer may speak for; a token for another one is forbidden.
	Tenants []string
	// AnyTenant says that the issuer may speak for every tenant. With one issuer that goes without saying, unless it has
	// Tenants; with several each must have either Tenants or AnyTenant. A template is several, unless the claim in it is
	// TenantClaim.
	AnyTenant bool
	// RFC9068 accepts nothing but access tokens as RFC 9068 has them: typ is "at+jwt", and sub, client_id, iat and jti
	// are required too. Not beside AudienceClaim: aud is required there.
	RFC9068 bool

	// Err says what is wrong with the settings that the Issuer was made of, by a function such as those of package
	// provider: [New] returns it, whatever has been changed in the Issuer since. Nil: nothing.
	Err error
}

// OnlyTenant is an [Issuer.TenantSelect] for tokens that name one tenant, in a list: it chooses the only one, and none
// where there are several that the issuer may speak for.
func OnlyTenant(_ *http.Request, ids []string) (id string, ok bool) {
	if len(ids) != 1 {
		return "", false
	}
	return ids[0], true
}

// TenantOfHost returns an [Issuer.TenantSelect] for services whose tenants have a host each: it chooses the tenant that is
// the label before base in the request's host (see [tenant.HostLabel]), if the token names it. It panics on a base that is
// no host name.
func TenantOfHost(base string) func(r *http.Request, ids []string) (id string, ok bool) {
	labelOf := tenant.HostLabel(base)
	return func(r *http.Request, ids []string) (string, bool) {
		label, ok := labelOf(r)
		return label, ok && slices.Contains(ids, label)
	}
}

// addIssuer makes c one of the resolver's issuers, under each of its names, or adds to found. alone says that there is no
// other.
func (r *Resolver) addIssuer(c Issuer, found findings, alone bool) {
	name := c.template(found)
	keysOf := c.Issuer
	if name != nil {
		keysOf = "" // they are those of many
		// Each directory is an issuer of its own, which may speak for itself.
		alone = alone && slices.Equal(c.TenantClaim, []string{name.claim})
	}
	opened := c.open(keysOf, found, alone)
	if keys, ok := opened.keys.(fetchedKeys); ok {
		r.fetched = append(r.fetched, namedKeys{c.Issuer, keys})
	}
	if name == nil {
		r.nameIssuer(opened, c.Issuer, found)
		return
	}
	for _, value := range c.IssuerValues {
		one := *opened
		one.directoryClaim, one.directory = name.claim, value
		r.nameIssuer(&one, name.before+value+name.after, found)
	}
}

func (r *Resolver) nameIssuer(i *issuer, name string, found findings) {
	if _, ok := r.issuers[name]; ok {
		found.add("Issuer is that of an earlier one")
	}
	i.name = name
	r.issuers[name] = i
}

// template is a name with the value of a claim in it.
type template struct{ before, claim, after string }

// template returns Issuer cut at the braces; nil: there are none.
func (c Issuer) template(found findings) *template {
	before, rest, ok := strings.Cut(c.Issuer, "{")
	if !ok {
		if c.IssuerValues != nil {
			found.add("IssuerValues is set, and Issuer has no place in braces for them")
		}
		return nil
	}
	claim, after, closed := strings.Cut(rest, "}")
	if !closed || claim == "" || strings.ContainsAny(claim+after, "{}") {
		found.add("Issuer is no template: want the name of one claim in braces")
	}
	if len(c.IssuerValues) == 0 {
		found.add("IssuerValues is empty, want the values that may stand for {%.140s}", claim)
	}
	for n, value := range c.IssuerValues {
		if value == "" || strings.ContainsAny(value, "/{}") {
			found.add("IssuerValues[%d] is %.140q, want a text without '/' and braces", n, value)
		}
	}
	return &template{before, claim, after}
}

// open returns the issuer ready for use, but for its name, unless it adds to found. keysOf is whose the keys are, "" where
// many share them; alone says that there is no other issuer.
func (c Issuer) open(keysOf string, found findings, alone bool) *issuer {
	if c.Err != nil {
		found.add("Err: %w", c.Err)
	}
	if c.Issuer == "" {
		found.add("Issuer is empty")
	}
	if c.Audience == "" {
		found.add("Audience is empty")
	}
	if c.RFC9068 && c.AudienceClaim != "" {
		found.add("AudienceClaim is set beside RFC9068, where aud is required")
	}
	if c.AudienceClaim == "iss" && len(c.RequiredClaims) == 0 {
		found.add("AudienceClaim is iss, which names no service: want RequiredClaims that do")
	}
	if _, ok := c.RequiredClaims[""]; ok {
		found.add("RequiredClaims has an empty name")
	}
	algs := findAlgorithms(c.Algorithms, found)
	var keys keySet
	if c.Keys.open == nil {
		found.add("Keys is empty")
	} else if len(algs) > 0 {
		keys = c.Keys.open(keyUse{issuer: keysOf, algorithms: algs}, found.under("Keys: "))
	}
	if len(c.TenantClaim) == 0 {
		found.add("TenantClaim is empty")
	}
	c.checkPath("TenantClaim", c.TenantClaim, found)
	c.checkPath("TierClaim", c.TierClaim, found)
	return &issuer{
		audience:      c.Audience,
		audienceClaim: c.AudienceClaim,
		algorithms:    algs,
		keys:          keys,
		required:      newRequiredClaims(c.RequiredClaims),
		tenantClaim:   slices.Clone(c.TenantClaim),
		tenantInteger: c.TenantInteger,
		tenantPrefix:  c.TenantPrefix,
		tenantSelect:  c.TenantSelect,
		tierClaim:     slices.Clone(c.TierClaim),
		tenants:       c.tenantSet(found, alone),
		rfc9068:       c.RFC9068,
	}
}

// userEditable are the names that providers give to what users may write about themselves.
var userEditable = []string{"user_metadata", "userMetadata", "unsafe_metadata", "unsafeMetadata", "raw_user_meta_data"}

func (c Issuer) checkPath(field string, path []string, found findings) {
	for _, name := range path {
		if name == "" {
			found.add("%s has an empty name in its path", field)
		}
		last := name[strings.LastIndexByte(name, '/')+1:] // of https://example.com/user_metadata
		if slices.Contains(userEditable, last) && !slices.Contains(c.UserEditable, name) {
			found.add("%s goes through %.140q, which users can edit (UserEditable allows it)", field, name)
		}
	}
}

// findAlgorithms returns the algorithms of these names, none where something is wrong with one.
func findAlgorithms(names []string, found findings) []*algorithm {
	if len(names) == 0 {
		found.add("Algorithms is empty")
	}
	var algs []*algorithm
	for n, name := range names {
		alg, ok := algorithms[name]
		switch {
		case !ok:
			found.add("Algorithms[%d] is %.40q, which is no algorithm (names are case-sensitive)", n, name)
			return nil
		case slices.Contains(algs, alg):
			found.add("Algorithms[%d] is %s once more", n, name)
			return nil
		case n > 0 && alg.symmetric() != algs[0].symmetric():
			found.add("Algorithms has HMAC beside other kinds: %s", strings.Join(names, ", "))
			return nil
		}
		algs = append(algs, alg)
	}
	return algs
}

// tenantSet returns the tenants that the issuer may speak for, nil where it may for any. Where that matters, it must be
// said.
func (c Issuer) tenantSet(found findings, alone bool) map[string]struct{} {
	switch {
	case c.AnyTenant && c.Tenants != nil:
		found.add("Tenants is set beside AnyTenant")
	case c.Tenants == nil && !c.AnyTenant && !alone:
		found.add("Tenants or AnyTenant is required with several issuers")
	}
	if c.Tenants == nil {
		return nil
	}
	if len(c.Tenants) == 0 {
		found.add("Tenants is an empty list, want nil or tenants")
	}
	set := make(map[string]struct{}, len(c.Tenants))
	for n, id := range c.Tenants {
		if !tenant.ValidID(id) {
			found.add("Tenants[%d]: %w", n, tenant.ErrInvalidID)
		}
		set[id] = struct{}{}
	}
	return set
}
