package jwttenant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Config configures a [Resolver]. Its functions are called concurrently.
type Config struct {
	// Issuers are whose tokens are accepted; at least one. A token is judged by the one that its iss names and by no
	// other, so no two may have the same name.
	Issuers []Issuer
	// Leeway is by how much the issuers' clocks may differ from this one's, when exp, nbf and iat are judged. 0: 30
	// seconds. Less than 0 or more than a minute is an error; for none, say a nanosecond.
	Leeway time.Duration
	// MaxTokenBytes bounds a token's length; a longer one is refused before it is looked at. 0: 8192. Less than 0 or more
	// than 65536 is an error.
	MaxTokenBytes int
	// Cookie is the name of a cookie that has the token of a request without a bearer token, for browsers. Set it
	// Secure and HttpOnly, with a name that begins with "__Host-", so that no other host can set it. Browsers send it along
	// with what other sites make them send: guard against that by SameSite and http.CrossOriginProtection. Empty: no
	// cookie is looked at.
	Cookie string

	// MaxRemembered is how many verified tokens are remembered, so that they are not verified again each time they come;
	// by their SHA-256, and with their claims: a kilobyte or so each. 0: 10,000. Negative: none is.
	MaxRemembered int
	// MaxRememberedPerTenant is how many of them may be one tenant's. 0: half of MaxRemembered. Less than 0 or more than
	// MaxRemembered is an error.
	MaxRememberedPerTenant int
	// MaxVerifications is how many tokens are verified at one time: forged ones cannot take more of the machine than that.
	// Other requests wait their turn, up to 1000 for each; beyond that they are refused with [tenant.ErrUnavailable].
	// Remembered tokens do not wait. 0: half of GOMAXPROCS, at least 1. Less than 0 is an error.
	MaxVerifications int

	// Revoked is asked about each good token, each time it comes, remembered or not. A revoked one is refused like a
	// forged one; where revoked cannot say, because of an error, the answer is [tenant.ErrUnavailable]. It runs on every
	// request: keep the list in memory. Nil: a token is good until it expires.
	Revoked func(context.Context, Token) (revoked bool, err error)
}

// Token is a token that was found good, as [Config.Revoked] is asked about it.
type Token struct {
	Issuer   string // iss
	ID       string // jti; empty where there is none
	Tenant   tenant.Tenant
	IssuedAt time.Time // iat; zero where there is none
	Expires  time.Time // exp
}

const (
	defaultLeeway, maxLeeway         = 30 * time.Second, time.Minute
	defaultTokenBytes, maxTokenBytes = 8 << 10, 64 << 10
	defaultRemembered, maxRemembered = 10_000, 10_000_000
	maxVerifications                 = 1 << 16
)

// New returns a resolver of tenants for cfg. The error names everything that is wrong with cfg. Where keys are fetched
// ([JWKS], [Discovery]) that begins now, in the background: see [Resolver.Ready] and [Resolver.Close].
func New(cfg Config) (*Resolver, error) {
	var errs []error
	found := findings{"jwttenant: ", &errs}
	cfg.setDefaults()
	cfg.check(found)
	r := &Resolver{
		issuers:  make(map[string]*issuer, len(cfg.Issuers)),
		leeway:   cfg.Leeway,
		maxBytes: cfg.MaxTokenBytes,
		cookie:   cfg.Cookie,
		revoked:  cfg.Revoked,
	}
	for n, c := range cfg.Issuers {
		r.addIssuer(c, found.under(fmt.Sprintf("Issuers[%d].", n)), len(cfg.Issuers) == 1)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r.verifications = newVerifications(cfg.MaxVerifications)
	if cfg.MaxRemembered > 0 {
		r.memory, r.refusals = newMemory(cfg.MaxRemembered, cfg.MaxRememberedPerTenant), new(refusals)
	}
	for _, keys := range r.fetched {
		keys.start()
	}
	return r, nil
}

// setDefaults fills in what is zero.
func (c *Config) setDefaults() {
	c.Leeway = cmp.Or(c.Leeway, defaultLeeway)
	c.MaxTokenBytes = cmp.Or(c.MaxTokenBytes, defaultTokenBytes)
	c.MaxRemembered = cmp.Or(c.MaxRemembered, defaultRemembered)
	c.MaxRememberedPerTenant = cmp.Or(c.MaxRememberedPerTenant, (c.MaxRemembered+1)/2)
	c.MaxVerifications = cmp.Or(c.MaxVerifications, max(1, runtime.GOMAXPROCS(0)/2))
}

// check finds what is wrong with all but the issuers.
func (c *Config) check(found findings) {
	within(found, "Leeway", c.Leeway, maxLeeway)
	within(found, "MaxTokenBytes", c.MaxTokenBytes, maxTokenBytes)
	within(found, "MaxVerifications", c.MaxVerifications, maxVerifications)
	if c.MaxRemembered > maxRemembered {
		found.add("MaxRemembered is %d, want at most %d", c.MaxRemembered, maxRemembered)
	}
	if c.MaxRemembered > 0 {
		within(found, "MaxRememberedPerTenant", c.MaxRememberedPerTenant, c.MaxRemembered)
	}
	if c.Cookie != "" && (&http.Cookie{Name: c.Cookie}).Valid() != nil {
		found.add("Cookie is %.140q, which no cookie can be called", c.Cookie)
	}
	if len(c.Issuers) == 0 {
		found.add("Issuers is empty")
	}
}

// findings collects what is wrong with a Config. Each begins with the name of its field, after where.
type findings struct {
	where string
	errs  *[]error
}

func (f findings) add(format string, args ...any) {
	*f.errs = append(*f.errs, fmt.Errorf(f.where+format, args...))
}

// under returns f for what is inside of a field, or belongs to it.
func (f findings) under(where string) findings { return findings{f.where + where, f.errs} }

// within adds to found where a number or a time is less than 0 or more than most.
func within[T int | int64 | time.Duration](found findings, field string, value, most T) {
	if value < 0 || value > most {
		found.add("%s is %v, want 0 to %v", field, value, most)
	}
}
