package jwttenant_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// checkUnavailable resolves a token that cannot be judged now and fails unless the client should come again after want.
func checkUnavailable(t *testing.T, r *jwttenant.Resolver, token string, want time.Duration) {
	t.Helper()
	req := request(token)
	checkAnswer(t, r, req, tenant.ErrUnavailable)
	_, err := r.Resolve(req)
	checkRetry(t, err, want)
}

func checkRetry(t *testing.T, err error, want time.Duration) {
	t.Helper()
	var later interface{ RetryAfter() time.Duration }
	if !errors.As(err, &later) {
		t.Fatalf("the error %v says nothing about when to come again", err)
	}
	if got := later.RetryAfter(); got != want {
		t.Errorf("error %v: come again after %v, want %v", err, got, want)
	}
}

// checkPrompt fails if do takes any time.
func checkPrompt(t *testing.T, do func()) {
	t.Helper()
	start := time.Now()
	if do(); time.Since(start) != 0 {
		t.Errorf("waited %v, want no wait at all", time.Since(start))
	}
}

func checkFetches(t *testing.T, p *publisher, want int) {
	t.Helper()
	if got := p.count(); got != want {
		t.Errorf("%d fetches, want %d", got, want)
	}
}

// newKnowing returns a resolver that knows key a, some time ago.
func newKnowing(t *testing.T, p *publisher) *jwttenant.Resolver {
	r := newFetching(t, p, jwttenant.JWKSConfig{})
	checkAnswer(t, r, request(es256("a", ecKey())), nil)
	time.Sleep(30 * time.Second)
	return r
}

func TestJWKS_FiftyUnknownKeyIDsAreOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		r := newKnowing(t, p)
		p.serve(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond)
			answering(keySet(jwk("a", ecKey(), nil)))(w, r)
		})
		var waited, unavailable, invalid atomic.Int64
		var wg sync.WaitGroup
		for n := range 50 {
			wg.Go(func() {
				start := time.Now()
				_, err := r.Resolve(request(es256(fmt.Sprint("unknown", n), ecKey())))
				if time.Since(start) > 0 {
					waited.Add(1)
				}
				if errors.Is(err, tenant.ErrUnavailable) {
					unavailable.Add(1)
				}
				if errors.Is(err, tenant.ErrInvalid) {
					invalid.Add(1)
				}
			})
		}
		wg.Wait()
		if waited.Load() != 1 || unavailable.Load() != 49 || invalid.Load() != 1 {
			t.Errorf("of 50 requests %d waited, %d are to come again and %d were refused, want 1, 49 and 1",
				waited.Load(), unavailable.Load(), invalid.Load())
		}
		checkFetches(t, p, 2)

		// In the cooldown there is no other fetch, after it there is one.
		checkUnavailable(t, r, es256("late", ecKey()), 30*time.Second-100*time.Millisecond)
		checkFetches(t, p, 2)
		time.Sleep(30*time.Second - 100*time.Millisecond)
		checkAnswer(t, r, request(es256("late", ecKey())), tenant.ErrInvalid)
		checkFetches(t, p, 3)
	})
}

// TestJWKS_UnknownKeyIDsAreNoWayToFetchMoreOften: whatever else is due, they cause one fetch in each cooldown.
func TestJWKS_UnknownKeyIDsAreNoWayToFetchMoreOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cooldown, times = 30 * time.Second, 100
		p := publishing(jwk("a", ecKey(), nil))
		r := newFetching(t, p, jwttenant.JWKSConfig{Refresh: cooldown, Cooldown: cooldown})
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
		start := time.Now()
		for n := 0; time.Since(start) < times*cooldown; n++ {
			if _, err := r.Resolve(request(forged(fmt.Sprint(n)))); err == nil {
				t.Fatal("accepted a forged token")
			}
			time.Sleep(cooldown / 3)
		}
		synctest.Wait()
		// One at the start, and one each for the refresh and for the IDs: none of them twice where both are due at once.
		if got := p.count(); got < times || got > 2*times+1 {
			t.Errorf("%d fetches in %d cooldowns, want at most %d", got, times, 2*times+1)
		}
	})
}

func TestJWKS_BadSignaturesOfAKnownKeyCauseNoFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		r := newKnowing(t, p)
		other := ecKeyOn(ecKey().Curve)
		for range 50 {
			checkAnswer(t, r, request(es256("a", other)), tenant.ErrInvalid)
		}
		checkFetches(t, p, 1)
	})
}

// TestJWKS_RotationInTheCooldown: the client keeps its token, comes again when it was told to, and is served.
func TestJWKS_RotationInTheCooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, next := publishing(jwk("a", ecKey(), nil)), ecKeyOn(ecKey().Curve)
		r := newFetching(t, p, jwttenant.JWKSConfig{})
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
		checkAnswer(t, r, request(forged("made-up")), tenant.ErrInvalid) // the cooldown begins
		time.Sleep(10 * time.Second)
		p.publish(jwk("b", next, nil))
		fresh := es256("b", next)
		checkPrompt(t, func() { checkUnavailable(t, r, fresh, 20*time.Second) })
		time.Sleep(20*time.Second - time.Nanosecond)
		checkUnavailable(t, r, fresh, time.Second) // never less
		checkFetches(t, p, 2)
		time.Sleep(time.Nanosecond)
		checkAnswer(t, r, request(fresh), nil)
		checkAnswer(t, r, request(es256("a", ecKey())), tenant.ErrInvalid)
		checkFetches(t, p, 3)
	})
}

// TestJWKS_AbsentKeyIDIsRefused: what a fetch has shown not to be there is no new key, until there may be one again.
func TestJWKS_AbsentKeyIDIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		r := newKnowing(t, p)
		absent := es256("b", ecKey())
		checkAnswer(t, r, request(absent), tenant.ErrInvalid)
		checkAnswer(t, r, request(absent), tenant.ErrInvalid)
		checkFetches(t, p, 2)

		// The issuer publishes the key after all. It does not take until the next refresh for that to be noticed.
		p.publish(jwk("b", ecKey(), nil))
		time.Sleep(30 * time.Second)
		checkAnswer(t, r, request(absent), nil)
		checkFetches(t, p, 3)
	})
}

// TestJWKS_AbsentKeyIDAcrossFetches: an ID that keeps coming stays known as absent, one that does not is forgotten.
func TestJWKS_AbsentKeyIDAcrossFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		r := newKnowing(t, p)
		absent := es256("b", ecKey())
		checkAnswer(t, r, request(absent), tenant.ErrInvalid)
		for range 10 {
			time.Sleep(20 * time.Second) // in the cooldown now and then
			checkAnswer(t, r, request(absent), tenant.ErrInvalid)
		}
		for before := p.count(); p.count() < before+2; {
			time.Sleep(time.Second)
		}
		checkAnswer(t, r, request(forged("another")), tenant.ErrInvalid) // the cooldown begins
		time.Sleep(10 * time.Second)
		checkUnavailable(t, r, absent, 20*time.Second)
	})
}

func TestJWKS_ManyUnknownKeyIDsAreForgottenNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		r := newFetching(t, p, jwttenant.JWKSConfig{})
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
		checkAnswer(t, r, request(forged("made-up")), tenant.ErrInvalid) // the cooldown begins
		late := es256("late", ecKey())
		for n := range 1023 { // and the one that was made up
			checkAnswer(t, r, request(forged(fmt.Sprint("unknown", n))), tenant.ErrUnavailable)
		}
		checkAnswer(t, r, request(late), tenant.ErrUnavailable)
		time.Sleep(30 * time.Second)
		checkAnswer(t, r, request(forged("unknown0")), tenant.ErrInvalid)
		checkAnswer(t, r, request(forged("unknown1022")), tenant.ErrInvalid)
		checkAnswer(t, r, request(late), tenant.ErrUnavailable)
	})
}

// forged returns a token with that kid that nobody signed.
func forged(id string) string {
	return tokenWithHeader(claims{"alg": "ES256", "kid": id})
}

// TestJWKS_UnknownKeyIDWhileTheIssuerFails: nothing is known about it then.
func TestJWKS_UnknownKeyIDWhileTheIssuerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		r := newKnowing(t, p)
		absent := forged("b")
		checkAnswer(t, r, request(absent), tenant.ErrInvalid)
		p.serve(failing(http.StatusInternalServerError))
		time.Sleep(30 * time.Second)
		checkAnswer(t, r, request(forged("c")), tenant.ErrUnavailable) // which causes the fetch that fails
		checkUnavailable(t, r, absent, time.Second)
		checkFetches(t, p, 3)
		checkAnswer(t, r, request(es256("a", ecKey())), nil)

		// However long it fails, and unknown IDs come: when to try again is not for them to say.
		for p.count() < 10 {
			time.Sleep(time.Second)
		}
		for failed := p.count(); p.count() == failed; time.Sleep(time.Second) {
			checkAnswer(t, r, request(forged("d")), tenant.ErrUnavailable)
		}
		times := p.times()
		checkEarly(t, "failing", times[10].Sub(times[9]), time.Minute)

		p.publish(jwk("c", ecKey(), nil))
		time.Sleep(time.Minute)
		synctest.Wait()
		checkFetches(t, p, 12)
		checkAnswer(t, r, request(absent), tenant.ErrInvalid)
		checkAnswer(t, r, request(es256("c", ecKey())), nil)
	})
}
