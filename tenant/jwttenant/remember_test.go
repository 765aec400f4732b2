package jwttenant_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// newResolverOf returns a resolver for hmacIssuer's tokens, with change made to its configuration.
func newResolverOf(tb failer, change func(*jwttenant.Config)) *jwttenant.Resolver {
	tb.Helper()
	cfg := oneIssuer(hmacIssuer())
	change(&cfg)
	r, err := jwttenant.New(cfg)
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	return r
}

// checkVerified fails unless so many tokens were verified, and so many recalled, since r was made.
func checkVerified(t *testing.T, r *jwttenant.Resolver, verified, recalled uint64) {
	t.Helper()
	if got := r.Stats(); got.Verified != verified || got.Recalled != recalled {
		t.Errorf("%d tokens were verified and %d recalled, want %d and %d", got.Verified, got.Recalled, verified, recalled)
	}
}

func TestResolve_RememberedTokenIsNotVerifiedAgain(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	good := token(claims{"plan": "no tier"})
	first := checkAnswer(t, r, request(good), nil)
	for range 9 {
		if diff := cmp.Diff(first, checkAnswer(t, r, request(good), nil)); diff != "" {
			t.Fatalf("another tenant than at first (-first +later):\n%s", diff)
		}
	}
	want := tenant.ResolverStats{Accepted: 10, Verified: 1, Recalled: 9, Remembered: 1, IgnoredTierClaims: 10}
	if diff := cmp.Diff(want, r.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}

func TestResolve_NothingIsRememberedWhereThatIsOff(t *testing.T) {
	r := newResolverOf(t, func(c *jwttenant.Config) { c.MaxRemembered = -1 })
	good, forged := token(nil), token(nil)+"AAAA"
	for range 3 {
		checkAnswer(t, r, request(good), nil)
		checkAnswer(t, r, request(forged), tenant.ErrInvalid)
	}
	checkVerified(t, r, 6, 0)
}

func TestResolve_RememberedTokenEndsLeewayAfterItsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResolver(t, hmacIssuer())
		short := token(claims{"exp": time.Now().Unix() + 60})
		checkAnswer(t, r, request(short), nil)
		time.Sleep(90*time.Second - time.Nanosecond)
		checkAnswer(t, r, request(short), nil)
		checkVerified(t, r, 1, 1)
		time.Sleep(time.Nanosecond)
		checkAnswer(t, r, request(short), tenant.ErrInvalid)
	})
}

func TestResolve_RememberedTokenSpeltDifferentlyIsRefused(t *testing.T) {
	r := newResolver(t, hmacIssuer())
	good := token(nil)
	checkAnswer(t, r, request(good), nil)
	for _, spelling := range []string{respelt(good), good + "=", good + ".", "." + good, good[:len(good)-1]} {
		checkAnswer(t, r, request(spelling), tenant.ErrInvalid)
	}
	checkAnswer(t, r, request(good+" "+good), tenant.ErrMalformed)
	checkAnswer(t, r, request(good+","+good), tenant.ErrMalformed)
	req := request(good)
	req.URL.RawQuery = "access_token=" + good
	checkAnswer(t, r, req, tenant.ErrMalformed)
}

// TestResolve_RevokedIsAskedEachTime: the list may change while the token is remembered.
func TestResolve_RevokedIsAskedEachTime(t *testing.T) {
	type key struct{}
	var asked []jwttenant.Token
	revoked := map[string]bool{}
	var failure error
	r := newResolverOf(t, func(c *jwttenant.Config) {
		c.Revoked = func(ctx context.Context, token jwttenant.Token) (bool, error) {
			if ctx.Value(key{}) == nil {
				t.Error("Revoked is asked without the request's context")
			}
			asked = append(asked, token)
			return revoked[token.ID], failure
		}
	})
	now := time.Unix(time.Now().Unix(), 0)
	req := request(token(claims{"jti": "token-1", "iat": now.Unix(), "exp": now.Unix() + 60}))
	req = req.WithContext(context.WithValue(req.Context(), key{}, true))

	got := checkAnswer(t, r, req, nil)
	want := jwttenant.Token{Issuer: issuerName, ID: "token-1", Tenant: got, IssuedAt: now, Expires: now.Add(time.Minute)}
	checkAnswer(t, r, req, nil)
	if diff := cmp.Diff([]jwttenant.Token{want, want}, asked); diff != "" {
		t.Errorf("Revoked is asked about (-want +got):\n%s", diff)
	}
	revoked["token-1"] = true
	checkAnswer(t, r, req, tenant.ErrInvalid)
	checkAnswer(t, r, req, tenant.ErrInvalid)
	revoked["token-1"] = false
	checkAnswer(t, r, req, nil)
	failure = errors.New("the list is not there")
	checkAnswer(t, r, req, tenant.ErrUnavailable)
	if _, err := r.Resolve(req); !errors.Is(err, failure) {
		t.Errorf("error %v, want the cause %v in it", err, failure)
	}
	checkVerified(t, r, 1, 6)
}

// TestResolve_RevokedThatFailsIsUnavailableWhateverItSays: with ErrNoCredential, tenant.First would ask the next resolver.
func TestResolve_RevokedThatFailsIsUnavailableWhateverItSays(t *testing.T) {
	for _, answer := range answers {
		failure := fmt.Errorf("the list is not there: %w", answer)
		r := newResolverOf(t, func(c *jwttenant.Config) {
			c.Revoked = func(context.Context, jwttenant.Token) (bool, error) { return false, failure }
		})
		checkAnswer(t, r, request(token(nil)), tenant.ErrUnavailable)
		if _, err := r.Resolve(request(token(nil))); !strings.Contains(err.Error(), "the list is not there") {
			t.Errorf("error %v, want the cause in it", err)
		}
	}
}

// TestResolve_InvalidTokensNeitherEnterTheMemoryNorLeaveRoom fills a small memory and floods it with what is not good.
func TestResolve_InvalidTokensNeitherEnterTheMemoryNorLeaveRoom(t *testing.T) {
	r := newResolverOf(t, func(c *jwttenant.Config) { c.MaxRemembered, c.MaxRememberedPerTenant = 2, 1 })
	mine, other := token(nil), token(claims{"tenant_id": "globex"})
	checkAnswer(t, r, request(mine), nil)
	checkAnswer(t, r, request(other), nil)
	for n := range 2000 {
		jti := claims{"jti": fmt.Sprint(n)}
		checkAnswer(t, r, request(token(jti)+"AAAA"), tenant.ErrInvalid)
		checkAnswer(t, r, request(token(jti.with(claims{"exp": 1}))), tenant.ErrInvalid)
		checkAnswer(t, r, request(token(jti.with(claims{"tenant_id": ".."}))), tenant.ErrForbidden)
	}
	before := r.Stats()
	checkAnswer(t, r, request(mine), nil)
	checkAnswer(t, r, request(other), nil)
	if got := r.Stats(); got.Recalled != before.Recalled+2 || got.Remembered != 2 {
		t.Errorf("%d recalled, %d remembered, want 2 and 2: the flood took their place", got.Recalled-before.Recalled, got.Remembered)
	}
}

func TestResolve_OneTenantDoesNotFillTheMemory(t *testing.T) {
	r := newResolverOf(t, func(c *jwttenant.Config) { c.MaxRemembered = 10 })
	mine := token(claims{"tenant_id": "globex"})
	checkAnswer(t, r, request(mine), nil)
	for n := range 100 {
		checkAnswer(t, r, request(token(claims{"jti": fmt.Sprint(n)})), nil)
	}
	if got := r.Stats().Remembered; got != 6 {
		t.Errorf("%d tokens are remembered, want one tenant's 5, half of the memory, and one", got)
	}
	checkAnswer(t, r, request(mine), nil)
	checkVerified(t, r, 101, 1)
}

func TestResolve_RefusedTokenIsRememberedBriefly(t *testing.T) {
	for name, c := range map[string]struct {
		token string
		want  error
	}{
		"wrong signature": {token(nil) + "AAAA", tenant.ErrInvalid},
		"no tenant":       {token(claims{"tenant_id": absent, "exp": 4_000_000_000}), tenant.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			r := newResolver(t, hmacIssuer())
			for range 10 {
				checkAnswer(t, r, request(c.token), c.want)
			}
			checkVerified(t, r, 1, 0)
			if got := r.Stats(); got.Refused != 10 || got.Remembered != 0 {
				t.Errorf("%d refused, %d remembered, want 10 and none", got.Refused, got.Remembered)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := newResolver(t, hmacIssuer())
		forged := token(nil) + "AAAA"
		checkAnswer(t, r, request(forged), tenant.ErrInvalid)
		time.Sleep(10*time.Second - time.Nanosecond)
		checkAnswer(t, r, request(forged), tenant.ErrInvalid)
		checkVerified(t, r, 1, 0)
		time.Sleep(time.Nanosecond)
		checkAnswer(t, r, request(forged), tenant.ErrInvalid)
		checkVerified(t, r, 2, 0)
	})
}

// TestResolve_KeyFunctionIsAskedEachTime: it may have taken the key back.
func TestResolve_KeyFunctionIsAskedEachTime(t *testing.T) {
	keys := []byte(nil)
	r := newResolver(t, keyIssuer(jwttenant.Keyfunc(func(*jwt.Token) (any, error) { return keys, nil }), "HS256"))
	good := token(nil)
	checkAnswer(t, r, request(good), tenant.ErrInvalid)
	keys = secret
	checkAnswer(t, r, request(good), nil)
	keys = nil
	checkAnswer(t, r, request(good), tenant.ErrInvalid)
}

// TestResolve_TokenThatComesManyTimesAtOnceIsVerifiedOnce: those that wait find it remembered when it is their turn.
func TestResolve_TokenThatComesManyTimesAtOnceIsVerifiedOnce(t *testing.T) {
	r := newResolverOf(t, func(c *jwttenant.Config) { c.MaxVerifications = 1 })
	good, forged := token(nil), token(nil)+"AAAA"
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() { checkConcurrently(t, r, request(good), nil) })
		all.Go(func() { checkConcurrently(t, r, request(forged), tenant.ErrInvalid) })
	}
	all.Wait()
	if got := r.Stats(); got.Verified != 2 || got.Accepted != 200 || got.Refused != 200 {
		t.Errorf("%d verified, %d accepted, %d refused, want 2, 200, 200", got.Verified, got.Accepted, got.Refused)
	}
}

func checkConcurrently(t *testing.T, r *jwttenant.Resolver, req *http.Request, want error) {
	if _, err := r.Resolve(req); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
