package tenant_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/tenant"
)

func TestAPIKeys_ChangesHoldFromTheNextRequest(t *testing.T) {
	keys := newAPIKeys(t, tenant.APIKeysConfig{})
	r := received(t, "X-Api-Key: "+lostKey)
	check(t, keys, r, tenant.Tenant{}, tenant.ErrInvalid)
	h := tenant.HashAPIKey(lostKey)
	set := func(to tenant.Tenant) {
		t.Helper()
		if err := keys.Set(h, to); err != nil {
			t.Fatal(err)
		}
	}
	set(acme)
	check(t, keys, r, acme, nil)
	set(other)
	check(t, keys, r, other, nil)
	for _, bad := range []tenant.Tenant{
		{}, {ID: tenant.AnonymousID}, {ID: "evil\n7Qz"}, {ID: "a", Tier: "day"}, {ID: "a", Tier: "\n7Qz"},
	} {
		if err := keys.Set(h, bad); err == nil || strings.Contains(err.Error(), "7Qz") {
			t.Errorf("Set(%q, %q) = %v, want an error that repeats neither", bad.ID, bad.Tier, err)
		}
	}
	check(t, keys, r, other, nil)
	keys.Remove(h)
	keys.Remove(h)
	check(t, keys, r, tenant.Tenant{}, tenant.ErrInvalid)
	check(t, keys, received(t, "X-Api-Key: "+acmeKey), acme, nil)
}

// TestAPIKeys_AgreeWithAMap compares random changes and requests with a map of the keys themselves.
func TestAPIKeys_AgreeWithAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys, err := tenant.NewAPIKeys(tenant.APIKeysConfig{})
		if err != nil {
			rt.Fatal(err)
		}
		model := map[string]string{}
		aKey := rapid.SampledFrom([]string{"k1", "k2", "k3", "k4"})
		rt.Repeat(map[string]func(*rapid.T){
			"set": func(rt *rapid.T) {
				key, id := aKey.Draw(rt, "key"), rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "id")
				if err := keys.Set(tenant.HashAPIKey(key), tenant.Tenant{ID: id}); err != nil {
					rt.Fatal(err)
				}
				model[key] = id
			},
			"remove": func(rt *rapid.T) {
				key := aKey.Draw(rt, "key")
				keys.Remove(tenant.HashAPIKey(key))
				delete(model, key)
			},
			"": func(rt *rapid.T) {
				for _, key := range []string{"k1", "k2", "k3", "k4"} {
					got, err := keys.Resolve(&http.Request{Header: http.Header{"X-Api-Key": {key}}})
					if want, known := model[key]; got.ID != want || (err == nil) != known {
						rt.Errorf("%s is %q, %v; want %q, known %t", key, got.ID, err, want, known)
					}
				}
			},
		})
	})
}

// TestAPIKeys_EverythingAtOnce is for the race detector; and a key that nobody touches is good all the time.
func TestAPIKeys_EverythingAtOnce(t *testing.T) {
	keys := newAPIKeys(t, tenant.APIKeysConfig{})
	var wg sync.WaitGroup
	for i := range 4 {
		key, h := tenant.GenerateAPIKey("tg_")
		wg.Go(func() {
			r := &http.Request{Header: http.Header{"X-Api-Key": {key}}}
			for range 500 {
				if err := keys.Set(h, tenant.Tenant{ID: fmt.Sprint("t", i)}); err != nil {
					t.Error(err)
				}
				if got, err := keys.Resolve(r); err != nil || got.ID != fmt.Sprint("t", i) {
					t.Errorf("after Set: %v, %v, want t%d", got, err, i)
				}
				keys.Remove(h)
				if got, err := keys.Resolve(r); !errors.Is(err, tenant.ErrInvalid) {
					t.Errorf("after Remove: %v, %v, want ErrInvalid", got, err)
				}
			}
		})
		wg.Go(func() {
			r := &http.Request{Header: http.Header{"X-Api-Key": {acmeKey}}}
			for range 500 {
				if got, err := keys.Resolve(r); err != nil || got != acme {
					t.Errorf("the key that stays: %v, %v, want %v", got, err, acme)
				}
			}
		})
	}
	wg.Wait()
}
