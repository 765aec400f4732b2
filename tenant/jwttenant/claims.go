package jwttenant

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// verify returns what t says, if k signed it and it names a tenant.
func (i *issuer) verify(t *token, k *key, leeway time.Duration) (*verified, error) {
	if err := k.signed(t); err != nil {
		return nil, err
	}
	v := &verified{issuer: i, key: k, tenant: tenant.Tenant{Claims: t.payload}}
	if err := i.readTenant(t.claims.at(i.tenantClaim...), v); err != nil {
		return nil, err
	}
	v.tenant.Subject, _ = text(t.claims.at("sub"))
	v.tenant.TierAsOf, _ = numericDate(t.claims.at("iat"))
	if len(i.tierClaim) > 0 {
		claim := t.claims.at(i.tierClaim...)
		if tier, ok := text(claim); ok && tenant.ValidID(tier) {
			v.tenant.Tier = strings.Clone(tier) // as IDs are
		}
		v.ignoredTier = claim != "" && v.tenant.Tier == ""
	}

	v.id, _ = text(t.claims.at("jti"))
	v.expires, _ = numericDate(t.claims.at("exp"))
	v.until = v.expires.Add(leeway)
	v.from, _ = numericDate(t.claims.at("nbf"))
	if issued := v.tenant.TierAsOf; issued.After(v.from) {
		v.from = issued
	}
	v.from = v.from.Add(-leeway)
	return v, nil
}

// readTenant takes the tenant out of claim, or those among which to choose.
func (i *issuer) readTenant(claim string, v *verified) (err error) {
	if claim == "" {
		return errNoClaim
	}
	if i.tenantSelect != nil {
		if v.choices = i.tenantsIn(claim); len(v.choices) == 0 {
			return errNoChoice
		}
		return nil
	}
	name, ok := i.nameIn(claim)
	if !ok {
		return errNotOneText
	}
	v.tenant.ID, err = i.tenantCalled(name)
	return err
}

// tenantCalled returns the tenant whose ID is name, without the prefix.
func (i *issuer) tenantCalled(name string) (string, error) {
	id, ok := strings.CutPrefix(name, i.tenantPrefix)
	if !ok || !tenant.ValidID(id) {
		return "", errNotID
	}
	if i.tenants != nil {
		if _, ok := i.tenants[id]; !ok {
			return "", errOtherTenant
		}
	}
	return strings.Clone(id), nil // limiters remember it for long, and a part of the claims would keep all of them
}

// nameIn returns what value says if it is a text, or a whole number where those are accepted.
func (i *issuer) nameIn(value string) (string, bool) {
	if name, ok := text(value); ok {
		return name, true
	}
	const most = 1<<53 - 1
	if n, err := strconv.ParseUint(value, 10, 64); i.tenantInteger && err == nil && n <= most {
		return value, true
	}
	return "", false
}

// tenantsIn returns the tenants that claim names: one, a list of them, or an object with them for names.
func (i *issuer) tenantsIn(claim string) (ids []string) {
	add := func(name string, ok bool) {
		if !ok {
			return
		}
		if id, err := i.tenantCalled(name); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	switch {
	case claim[0] == '{':
		members, _ := parseObject(claim)
		for _, m := range members {
			add(m.name, true)
		}
	case claim[0] == '[':
		for _, value := range elements(claim) {
			add(i.nameIn(value))
		}
	default:
		add(i.nameIn(claim))
	}
	return ids
}
