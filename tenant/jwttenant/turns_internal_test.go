package jwttenant

import (
	"context"
	"encoding/base64"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

func TestVerifications_NoMoreRunAtOneTimeThanMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVerifications(3)
		var mu sync.Mutex
		running, most := 0, 0
		add := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
		}
		start := time.Now()
		var all sync.WaitGroup
		for range 3 * (waitersEach + 1) {
			all.Go(func() {
				if err := v.begin(t.Context()); err != nil {
					t.Error(err)
					return
				}
				defer v.end()
				add(1)
				time.Sleep(time.Millisecond)
				add(-1)
			})
		}
		all.Wait()
		if took := time.Since(start); most != 3 || took != (waitersEach+1)*time.Millisecond {
			t.Errorf("at most %d ran at one time, and all took %v, want 3 and %d ms", most, took, waitersEach+1)
		}
	})
}

func TestVerifications_OneMoreThanMayWaitIsTurnedAwayAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVerifications(1)
		ctx, cancel := context.WithCancel(t.Context())
		if err := v.begin(ctx); err != nil {
			t.Fatal(err)
		}
		left := make(chan error, waitersEach)
		for range waitersEach {
			go func() { left <- v.begin(ctx) }()
		}
		synctest.Wait()
		err := v.begin(ctx)
		var later interface{ RetryAfter() time.Duration }
		if !errors.Is(err, tenant.ErrUnavailable) || !errors.As(err, &later) || later.RetryAfter() != time.Second {
			t.Errorf("error %v, want one of ErrUnavailable for a second", err)
		}
		cancel()
		for range waitersEach {
			if err := <-left; !errors.Is(err, context.Canceled) || !errors.Is(err, tenant.ErrUnavailable) {
				t.Fatalf("error %v of a request that ended while it waited, want ErrUnavailable and context.Canceled", err)
			}
		}
		v.end()
		if err := v.begin(t.Context()); err != nil {
			t.Errorf("after all left: %v", err)
		}
		if n := v.waiting.Load(); n != 0 {
			t.Errorf("%d wait, want nobody", n)
		}
	})
}

func TestVerified_LastsFromNotBeforeToExpiryWhileItsKeyIsThere(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	v := &verified{key: &key{}, from: now, until: now.Add(time.Minute)}
	for _, c := range []struct {
		name string
		at   time.Time
		want bool
	}{
		{"before, after the clock stepped back", now.Add(-time.Nanosecond), false},
		{"from the first instant", now, true},
		{"to the last", now.Add(time.Minute - time.Nanosecond), true},
		{"not after", now.Add(time.Minute), false},
	} {
		if got := v.lasts(c.at); got != c.want {
			t.Errorf("%s: lasts is %v, want %v", c.name, got, c.want)
		}
	}
	v.key.gone.Store(true)
	if v.lasts(now) {
		t.Error("lasts without its key")
	}
}

func TestVerified_IsGoodFromTheLaterOfNbfAndIat(t *testing.T) {
	for _, c := range []struct {
		claims string
		from   time.Time
	}{
		{`"iat":1000,"nbf":2000`, time.Unix(1970, 0)},
		{`"iat":2000,"nbf":1000`, time.Unix(1970, 0)},
		{`"iat":2000`, time.Unix(1970, 0)},
		{`"nbf":2000`, time.Unix(1970, 0)},
	} {
		claims, err := parseObject(`{"t":"acme","exp":3000,` + c.claims + `}`)
		if err != nil {
			t.Fatal(err)
		}
		good := &key{signed: func(*token) error { return nil }}
		v, err := (&issuer{tenantClaim: []string{"t"}}).verify(&token{claims: claims}, good, 30*time.Second)
		if err != nil || !v.from.Equal(c.from) || !v.until.Equal(time.Unix(3030, 0)) {
			t.Errorf("%s: %+v, %v, want it good from %v to 3030", c.claims, v, err, c.from)
		}
	}
}

func TestRefusals_EndWithTheirKeyAndDoNotAnswerForOthers(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var r refusals
	k := &key{}
	mine, neighbour := digest{0, 1: 1, 31: 1}, digest{0, 1: 1, 31: 2} // one place for both
	if r.place(&mine) != r.place(&neighbour) {
		t.Fatal("the two have a place each")
	}
	r.add(&mine, k, errSignature, now)
	if got := r.find(&mine, now); got != errSignature {
		t.Errorf("find: %v, want %v", got, errSignature)
	}
	if got := r.find(&neighbour, now); got != nil {
		t.Errorf("find of another token: %v, want nothing", got)
	}
	k.gone.Store(true)
	if got := r.find(&mine, now); got != nil {
		t.Errorf("find when the key is gone: %v, want nothing", got)
	}
}

// takenBack is a set with one key, which is taken back while a signature is looked at.
type takenBack struct{ *key }

func (k takenBack) find(context.Context, *token) (*key, error) { return k.key, nil }

func TestResolve_KeyThatIsTakenBackMeanwhileProvesNothing(t *testing.T) {
	k := &key{}
	k.signed = func(*token) error {
		k.gone.Store(true)
		return nil
	}
	r, err := New(Config{Issuers: []Issuer{{
		Issuer: "i", Audience: "a", Algorithms: []string{"ES256"}, TenantClaim: []string{"t"},
		Keys: KeySource{open: func(keyUse, findings) keySet { return takenBack{k} }},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	raw := encode([]byte(`{"alg":"ES256"}`)) + "." + encode([]byte(`{"iss":"i","aud":"a","exp":4000000000,"t":"acme"}`)) + ".AAAA"
	v, err := r.verify(t.Context(), raw, time.Now())
	if v != nil || err != errKeyGone || r.memory.len() != 0 {
		t.Errorf("verify: %v, %v, %d remembered, want the error %v and none", v, err, r.memory.len(), errKeyGone)
	}
}

// TestMemory_TenantThatAllAreInIsNotChargedForAll: the list of each user begins with the tenant that everybody is in.
func TestMemory_TenantThatAllAreInIsNotChargedForAll(t *testing.T) {
	m, now := newMemory(100, 50), time.Now()
	add := func(n byte, choices ...string) digest {
		sum := digest{n, n}
		m.add(&sum, &verified{key: &key{}, choices: choices, until: now.Add(time.Hour)}, now)
		return sum
	}
	quiet := add(0, "demo", "quiet")
	for n := range byte(200) {
		add(n+1, "demo", "noisy")
	}
	if m.find(&quiet, now) == nil {
		t.Error("the quiet tenant's token is forgotten")
	}
	if m.size != 51 {
		t.Errorf("%d tokens are remembered, want 51: 50 of the noisy tenant's and one", m.size)
	}
}
