package jwttenant_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

func TestJWKS_HangingIssuerParksOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		r := newKnowing(t, p)
		p.serve(hanging)
		start := time.Now()
		checkAnswer(t, r, request(forged("b")), tenant.ErrUnavailable)
		if got := time.Since(start); got != time.Second {
			t.Errorf("the request that began the fetch waited %v, want 1s (MaxWait)", got)
		}
		checkPrompt(t, func() {
			checkUnavailable(t, r, forged("b"), time.Second)
			checkUnavailable(t, r, forged("c"), time.Second)
			checkAnswer(t, r, request(es256("a", ecKey())), nil)
		})
		checkFetches(t, p, 2)
	})
}

func TestJWKS_RequestWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		r := newKnowing(t, p)
		p.serve(hanging)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start := time.Now()
		checkAnswer(t, r, request(forged("b")).WithContext(ctx), tenant.ErrUnavailable)
		if got := time.Since(start); got != 10*time.Millisecond {
			t.Errorf("waited %v, want 10ms", got)
		}
	})
}

// TestResolve_TokenThatExpiresWhileItsKeyIsFetchedIsRefused: it was good when it came.
func TestResolve_TokenThatExpiresWhileItsKeyIsFetchedIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing()
		p.serve(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Minute - time.Millisecond)
			answering(keySet(jwk("a", ecKey(), nil)))(w, r)
		})
		r := newFetching(t, p, jwttenant.JWKSConfig{MaxWait: time.Minute, Timeout: time.Minute})
		short := claims{"exp": time.Now().Unix() + 29} // 59 s with the leeway
		checkAnswer(t, r, request(signedBy("a", "ES256", ecKey(), short)), tenant.ErrInvalid)
		if got := r.Stats(); got.Verified != 1 || got.Remembered != 0 {
			t.Errorf("%d verified and %d remembered, want 1 and none: it is not for its key that it is refused",
				got.Verified, got.Remembered)
		}
	})
}

// TestJWKS_ClientThatLeavesWhileItWaitsIsSeenToHaveLeft: the gate counts it as cancelled, and not as a refusal.
func TestJWKS_ClientThatLeavesWhileItWaitsIsSeenToHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing()
		p.serve(hanging)
		r := newFetching(t, p, jwttenant.JWKSConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		_, err := r.Resolve(request(es256("a", ecKey())).WithContext(ctx))
		if !errors.Is(err, context.Canceled) || !errors.Is(err, tenant.ErrUnavailable) {
			t.Errorf("error %v, want context.Canceled and ErrUnavailable", err)
		}
	})
}

func TestJWKS_NegativeMaxWaitParksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing()
		p.serve(hanging)
		r := newFetching(t, p, jwttenant.JWKSConfig{MaxWait: -1})
		checkPrompt(t, func() { checkUnavailable(t, r, es256("a", ecKey()), time.Second) })
		synctest.Wait()
		p.publish(jwk("a", ecKey(), nil))
		time.Sleep(time.Minute)
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
		p.serve(hanging)
		checkPrompt(t, func() { checkUnavailable(t, r, forged("b"), time.Second) })
		synctest.Wait()
		checkFetches(t, p, 3)
	})
}

func TestJWKS_CloseFreesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing()
		p.serve(hanging)
		logger, lines := newLogger()
		r := newFetching(t, p, jwttenant.JWKSConfig{MaxWait: time.Minute, Timeout: time.Minute, Logger: logger})
		var wg sync.WaitGroup
		wg.Go(func() { checkAnswer(t, r, request(es256("a", ecKey())), tenant.ErrUnavailable) })
		wg.Go(func() { checkReady(t, r.Ready(t.Context()), "closed") })
		synctest.Wait()
		checkPrompt(t, func() {
			r.Close()
			wg.Wait()
		})
		checkUnavailable(t, r, es256("a", ecKey()), time.Second)
		checkMessages(t, lines) // that the fetch ended is no failure of the issuer's
		if got := r.Stats().Keys[0]; got.Failures != 0 {
			t.Errorf("%d failures, want none", got.Failures)
		}
	})
}
