package jwttenant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// Resolver finds the tenant of a request in its token; see the package comment for what it accepts. It is a
// [tenant.Resolver].
//
// Close one whose keys are fetched, as [JWKS] does. All methods may be called concurrently. The zero Resolver is not
// usable: see [New].
type Resolver struct {
	issuers  map[string]*issuer // by name; never changed
	fetched  []namedKeys
	leeway   time.Duration
	maxBytes int
	cookie   string
	revoked  func(context.Context, Token) (bool, error)

	memory        *memory   // nil: nothing is remembered
	refusals      *refusals // nil where memory is
	verifications *verifications

	accepted, refused, recalled, verified, ignoredTiers atomic.Uint64
}

// namedKeys are keys that are fetched, of the issuer of that name.
type namedKeys struct {
	issuer string
	fetchedKeys
}

// Resolve returns the tenant that the token of req speaks for: ID and Tier from the issuer's claims, TierAsOf from iat,
// Subject from sub, and the claims themselves.
//
// The error matches [tenant.ErrNoCredential] where there is no token, [tenant.ErrMalformed] where there is not exactly
// one, [tenant.ErrInvalid] for a token that is not good, [tenant.ErrForbidden] for a good one that names no tenant, or
// one that its issuer may not speak for, and [tenant.ErrUnavailable] where it cannot be judged now.
func (r *Resolver) Resolve(req *http.Request) (tenant.Tenant, error) {
	raw, err := r.credential(req)
	if err == errNoCredential {
		return tenant.Tenant{}, err
	}
	var t tenant.Tenant
	if err == nil {
		t, err = r.resolve(req, raw)
	}
	if err != nil {
		r.refused.Add(1)
		return tenant.Tenant{}, err
	}
	r.accepted.Add(1)
	return t, nil
}

// Challenge is what a client is told to send where a token is missing or not good.
func (r *Resolver) Challenge() string { return "Bearer" }

// Ready returns nil if there are keys to judge the tokens of every issuer by, for a readiness probe. Where keys are just
// being fetched for the first time it waits for them, as long as ctx lets it; otherwise it does not wait. The error says
// for which issuers there are none, and why. An issuer that is down once its keys are there changes nothing until they
// are too old ([JWKSConfig.MaxStale]).
func (r *Resolver) Ready(ctx context.Context) error {
	var errs []error
	for _, keys := range r.fetched {
		if err := keys.ready(ctx); err != nil {
			errs = append(errs, fmt.Errorf("jwttenant: issuer %.140q: %w", keys.issuer, err))
		}
	}
	return errors.Join(errs...)
}

// Close ends the fetching of keys and waits until it has. From then on the tokens of those issuers are refused with
// [tenant.ErrUnavailable], because nobody would notice that a key was taken back. It does nothing where no keys are
// fetched, and nothing the second time. Do not call it from what the fetching calls: a Logger, a Transport.
func (r *Resolver) Close() {
	for _, keys := range r.fetched {
		keys.close()
	}
}

// resolve judges a token: what of it never changes, if that is not remembered, and then what may be different for each
// request.
func (r *Resolver) resolve(req *http.Request, raw string) (tenant.Tenant, error) {
	now := time.Now()
	v, err := r.verify(req.Context(), raw, now)
	if err != nil {
		return tenant.Tenant{}, err
	}
	t, err := v.choose(req)
	if err != nil {
		return tenant.Tenant{}, err
	}
	if r.revoked != nil {
		if err := r.checkRevoked(req.Context(), v, t); err != nil {
			return tenant.Tenant{}, err
		}
	}
	if v.ignoredTier {
		r.ignoredTiers.Add(1)
	}
	return t, nil
}

func (r *Resolver) verify(ctx context.Context, raw string, now time.Time) (*verified, error) {
	var sum digest
	if r.memory != nil {
		sum = digestOf(raw)
	}
	if v, err := r.recall(&sum, now); v != nil || err != nil {
		return v, err
	}
	return r.verifyAnew(ctx, &sum, raw, now)
}

// recall returns what is remembered of a token, if it is still right.
func (r *Resolver) recall(sum *digest, now time.Time) (*verified, error) {
	if r.memory == nil {
		return nil, nil
	}
	if v := r.memory.find(sum, now); v != nil {
		r.recalled.Add(1)
		return v, nil
	}
	return nil, r.refusals.find(sum, now)
}

// remember keeps what came of verifying a token that k was to have signed.
func (r *Resolver) remember(sum *digest, k *key, v *verified, err error, now time.Time) {
	switch {
	case r.memory == nil, k.fleeting:
	case err != nil:
		r.refusals.add(sum, k, err, now)
	default:
		r.memory.add(sum, v, now)
	}
}

// verifyAnew verifies a token, and remembers what comes of it. Between its two turns it may wait for keys, and then keeps
// nobody else from verifying.
func (r *Resolver) verifyAnew(ctx context.Context, sum *digest, raw string, now time.Time) (*verified, error) {
	var t *token
	var i *issuer
	v, err := r.inTurn(ctx, sum, now, func() (*verified, error) {
		var err error
		t, i, err = r.read(raw, now)
		return nil, err
	})
	if v != nil || err != nil {
		return v, err
	}
	k, err := i.keys.find(ctx, t)
	if err != nil {
		return nil, err
	}
	return r.inTurn(ctx, sum, now, func() (*verified, error) {
		r.verified.Add(1)
		v, err := i.verify(t, k, r.leeway)
		switch {
		case k.gone.Load(): // while it waited; what it proved counts no longer
			return nil, errKeyGone
		case v != nil && !time.Now().Before(v.until): // while it waited, too
			return nil, errExpired
		}
		r.remember(sum, k, v, err, now)
		return v, err
	})
}

// read returns the token that raw is and its issuer, if all about it is good but the signature, of which nothing is known.
func (r *Resolver) read(raw string, now time.Time) (*token, *issuer, error) {
	t, err := parseToken(raw)
	if err != nil {
		return nil, nil, err
	}
	name, _ := text(t.claims.at("iss"))
	i, ok := r.issuers[name]
	if !ok {
		return nil, nil, errIssuer
	}
	return t, i, i.judge(t, now, r.leeway)
}

// inTurn returns what work does, once there is room for it; or what was remembered of the token by then, because another
// request brought it too.
func (r *Resolver) inTurn(
	ctx context.Context, sum *digest, now time.Time, work func() (*verified, error),
) (*verified, error) {
	if err := r.verifications.begin(ctx); err != nil {
		return nil, err
	}
	defer r.verifications.end()
	if v, err := r.recall(sum, now); v != nil || err != nil {
		return v, err
	}
	return work()
}

// checkRevoked asks Config.Revoked.
func (r *Resolver) checkRevoked(ctx context.Context, v *verified, t tenant.Tenant) error {
	revoked, err := r.revoked(ctx, Token{
		Issuer: v.issuer.name, ID: v.id, Tenant: t, IssuedAt: t.TierAsOf, Expires: v.expires,
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: Revoked: %w", tenant.ErrUnavailable, foreign(err))
	case revoked:
		return errRevoked
	}
	return nil
}
