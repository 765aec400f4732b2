package jwttenant_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// gaps waits until p was asked n more times and returns the times between.
func gaps(p *publisher, n int) (all []time.Duration) {
	for first := p.count(); p.count() < first+n; {
		time.Sleep(100 * time.Millisecond)
	}
	times := p.times()
	for n := range times[1:] {
		all = append(all, times[n+1].Sub(times[n]))
	}
	return all
}

// checkEarly fails unless got is want or up to a tenth less.
func checkEarly(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want-want/10 || got > want {
		t.Errorf("%s: the next fetch came after %v, want %v to %v", what, got, want-want/10, want)
	}
}

func TestJWKS_RefreshHonoursCacheControl(t *testing.T) {
	const cooldown, unsaid, most = 30 * time.Second, 15 * time.Minute, time.Hour
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{nil, unsaid},
		{http.Header{"Cache-Control": {""}}, unsaid},
		{http.Header{"Cache-Control": {"public, must-revalidate"}}, unsaid},
		{http.Header{"Cache-Control": {"max-age=600"}}, 10 * time.Minute},
		{http.Header{"Cache-Control": {`public, Max-Age="600" , must-revalidate`}}, 10 * time.Minute},
		{http.Header{"Cache-Control": {"public", "max-age=600"}}, 10 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=600, max-age=1200"}}, 10 * time.Minute},
		{http.Header{"Cache-Control": {"s-maxage=1, max-age=600"}}, 10 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=600"}, "Age": {"300"}}, 5 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=600"}, "Age": {"x"}}, 10 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=600"}, "Age": {"601"}}, cooldown},
		{http.Header{"Cache-Control": {"max-age=40"}}, 40 * time.Second},
		{http.Header{"Cache-Control": {"max-age=5"}}, 5 * time.Second},
		{http.Header{"Cache-Control": {"max-age=1"}}, time.Second},
		{http.Header{"Cache-Control": {"max-age=600"}, "Age": {"599"}}, time.Second},
		{http.Header{"Cache-Control": {"max-age=0"}}, cooldown},
		{http.Header{"Cache-Control": {"no-store"}}, cooldown},
		{http.Header{"Cache-Control": {"max-age=600, No-Cache"}}, cooldown},
		{http.Header{"Cache-Control": {"max-age=7200"}}, most},
		{http.Header{"Cache-Control": {"max-age=99999999999999999999999"}}, most},
		{http.Header{"Cache-Control": {"max-age=9223372036854775807"}}, most},
		{http.Header{"Cache-Control": {"max-age=-1"}}, unsaid},
		{http.Header{"Cache-Control": {"max-age=1e3"}}, unsaid},
		{http.Header{"Cache-Control": {"max-age"}}, unsaid},
		{http.Header{"Cache-Control": {"x-max-age=1"}}, unsaid},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := publishing()
			p.serve(func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range c.header {
					w.Header()[name] = values
				}
				w.Write([]byte(keySet(jwk("a", ecKey(), nil))))
			})
			newFetching(t, p, jwttenant.JWKSConfig{})
			got := gaps(p, 2)[0]
			checkEarly(t, strings.Join(c.header["Cache-Control"], " | "), got, c.want)
		})
	}
}

// TestJWKS_ReplicasDoNotComeInStep: two that start at one time are apart from the first refresh on.
func TestJWKS_ReplicasDoNotComeInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, q := publishing(jwk("a", ecKey(), nil)), publishing(jwk("a", ecKey(), nil))
		newFetching(t, p, jwttenant.JWKSConfig{})
		newFetching(t, q, jwttenant.JWKSConfig{})
		if a, b := gaps(p, 10), gaps(q, 1); a[0] == b[0] {
			t.Errorf("both refresh after %v", a[0])
		}
	})
}

func TestJWKS_SettingsBoundTheRefresh(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  jwttenant.JWKSConfig
		says string
		want time.Duration
	}{
		"Refresh":              {jwttenant.JWKSConfig{Refresh: time.Minute}, "", time.Minute},
		"long Refresh":         {jwttenant.JWKSConfig{Refresh: 5 * time.Hour}, "", 5 * time.Hour},
		"short MaxRefresh":     {jwttenant.JWKSConfig{MaxRefresh: time.Minute}, "", time.Minute},
		"MaxRefresh":           {jwttenant.JWKSConfig{MaxRefresh: time.Minute}, "max-age=900", time.Minute},
		"Cooldown":             {jwttenant.JWKSConfig{Cooldown: time.Minute}, "no-cache", time.Minute},
		"Refresh and Cooldown": {jwttenant.JWKSConfig{Refresh: 3 * time.Second}, "no-cache", 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := publishing()
				p.serve(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Cache-Control", c.says)
					w.Write([]byte(keySet(jwk("a", ecKey(), nil))))
				})
				newFetching(t, p, c.cfg)
				checkEarly(t, name, gaps(p, 2)[0], c.want)
			})
		})
	}
}

func TestJWKS_FailureIsRetriedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing()
		p.serve(failing(http.StatusServiceUnavailable))
		r := newFetching(t, p, jwttenant.JWKSConfig{})
		for n, got := range gaps(p, 9) {
			checkEarly(t, "failing", got, min(time.Second<<n, time.Minute))
		}
		// A client is told when there may be more to say: never in less than a second, never much later.
		synctest.Wait()
		_, err := r.Resolve(request(es256("a", ecKey())))
		var later interface{ RetryAfter() time.Duration }
		later, _ = err.(interface{ RetryAfter() time.Duration })
		if later == nil || later.RetryAfter() < 54*time.Second || later.RetryAfter() > time.Minute {
			t.Errorf("error %v, want one that says to come again after 54s to 1m", err)
		}
		p.publish(jwk("a", ecKey(), nil))
		time.Sleep(later.RetryAfter())
		synctest.Wait()
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
	})
}

func TestJWKS_ShortRefreshBoundsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing()
		p.serve(failing(http.StatusServiceUnavailable))
		newFetching(t, p, jwttenant.JWKSConfig{Refresh: 3 * time.Second})
		for n, got := range gaps(p, 5) {
			checkEarly(t, "failing", got, min(time.Second<<n, 3*time.Second))
		}
	})
}

// TestJWKS_HangingIssuerAtStart: each request waits no longer than MaxWait, and once the first fetch has failed, not at
// all.
func TestJWKS_HangingIssuerAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing()
		p.serve(hanging)
		r := newFetching(t, p, jwttenant.JWKSConfig{})
		for range 2 {
			start := time.Now()
			checkAnswer(t, r, request(es256("a", ecKey())), tenant.ErrUnavailable)
			if got := time.Since(start); got != time.Second {
				t.Errorf("waited %v, want 1s", got)
			}
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		checkPrompt(t, func() {
			checkUnavailable(t, r, es256("a", ecKey()), time.Second)
			checkReady(t, r.Ready(t.Context()), "id.example.com/keys: no answer within 5s")
		})
		time.Sleep(time.Second) // the next fetch hangs too
		synctest.Wait()
		checkFetches(t, p, 2)
		checkPrompt(t, func() {
			checkUnavailable(t, r, es256("a", ecKey()), time.Second)
			checkReady(t, r.Ready(t.Context()), "no answer within 5s")
		})
	})
}

// TestJWKS_KeysOutliveTheIssuerForSoLong: and then no token counts, nor does one that was remembered.
func TestJWKS_KeysOutliveTheIssuerForSoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := publishing(jwk("a", ecKey(), nil))
		logger, lines := newLogger()
		r := newFetching(t, p, jwttenant.JWKSConfig{Logger: logger})
		remembered := es256("a", ecKey())
		checkAnswer(t, r, request(remembered), nil)
		p.serve(hanging) // so that fetching lasts while the time runs out
		time.Sleep(24*time.Hour - time.Nanosecond)
		checkAnswer(t, r, request(remembered), nil)
		checkAnswer(t, r, request(es256("a", ecKey())), nil)
		checkReady(t, r.Ready(t.Context()), "")

		time.Sleep(time.Nanosecond)
		synctest.Wait()
		checkPrompt(t, func() {
			checkAnswer(t, r, request(remembered), tenant.ErrUnavailable)
			checkAnswer(t, r, request(es256("a", ecKey())), tenant.ErrUnavailable)
			checkAnswer(t, r, request(signedBy("", "ES256", ecKey(), nil)), tenant.ErrUnavailable)
			checkReady(t, r.Ready(t.Context()), "no answer within 5s")
		})
		if got := r.Stats().Keys[0]; got.Keys != 0 || got.Fetched.IsZero() {
			t.Errorf("stats %+v, want no keys, and when they were fetched", got)
		}

		p.publish(jwk("a", ecKey(), nil))
		time.Sleep(time.Minute + 5*time.Second)
		checkAnswer(t, r, request(remembered), nil)
		checkMessages(t, lines, "keys cannot be fetched", "the keys are too old to be used", "keys are fetched again")
	})
}
