package tenant_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// The keys of these tests. Messages of failures name them, and do not print them.
const (
	acmeKey  = "tg_sentinel-7Qz-acme"
	otherKey = "tg_sentinel-7Qz-other"
	lostKey  = "tg_sentinel-7Qz-lost" // nobody's
)

var other = tenant.Tenant{ID: "other"}

type hash = [sha256.Size]byte

func newAPIKeys(t testing.TB, cfg tenant.APIKeysConfig) *tenant.APIKeys {
	t.Helper()
	if cfg.Keys == nil && cfg.Lookup == nil {
		cfg.Keys = map[hash]tenant.Tenant{tenant.HashAPIKey(acmeKey): acme, tenant.HashAPIKey(otherKey): other}
	}
	keys, err := tenant.NewAPIKeys(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// received returns the request that a server reads from the wire where a client sent lines as its header.
func received(t testing.TB, lines ...string) *http.Request {
	t.Helper()
	raw := "GET / HTTP/1.1\r\nHost: api.example.com\r\n" + strings.Join(append(lines, "", ""), "\r\n")
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		t.Fatal("no request can be read from the header")
	}
	return r
}

// check fails unless resolver answers r with want, or with an error that matches wantErr.
func check(t *testing.T, resolver tenant.Resolver, r *http.Request, want tenant.Tenant, wantErr error) {
	t.Helper()
	got, err := resolver.Resolve(r)
	if strings.Contains(fmt.Sprintf("%+v %#v", err, err), "7Qz") {
		t.Fatal("the error shows the key")
	}
	if !errors.Is(err, wantErr) || got != want {
		t.Errorf("Resolve = %v, %v; want %v, %v", got, err, want, wantErr)
	}
}

func TestAPIKeys_FromAHeaderOfItsOwn(t *testing.T) {
	keys := newAPIKeys(t, tenant.APIKeysConfig{Prefix: "tg_"})
	tests := []struct {
		name    string
		lines   []string
		want    tenant.Tenant
		wantErr error
	}{
		{"good", []string{"X-Api-Key: " + acmeKey}, acme, nil},
		{"another tenant's", []string{"x-api-key:" + otherKey}, other, nil},
		{"white space around it", []string{"X-API-KEY: \t" + acmeKey + " \t"}, acme, nil},
		{"beside a token", []string{"Authorization: Bearer eyJ", "X-Api-Key: " + acmeKey}, acme, nil},
		{"beside headers that name a tenant",
			[]string{"X-Tenant-Id: other", "X_Tenant_Id: other", "X-Api-Key: " + acmeKey}, acme, nil},

		{"no header", nil, tenant.Tenant{}, tenant.ErrNoCredential},
		{"headers that name a tenant", []string{"X-Tenant-Id: acme", "X_Tenant_Id: acme"},
			tenant.Tenant{}, tenant.ErrNoCredential},
		{"underscores", []string{"X_Api_Key: " + acmeKey}, tenant.Tenant{}, tenant.ErrNoCredential},
		{"in Authorization", []string{"Authorization: Bearer " + acmeKey}, tenant.Tenant{}, tenant.ErrNoCredential},
		{"good, and one with underscores", []string{"X_Api_Key: " + otherKey, "X-Api-Key: " + acmeKey}, acme, nil},

		{"two headers", []string{"X-Api-Key: " + acmeKey, "X-Api-Key: " + acmeKey}, tenant.Tenant{}, tenant.ErrMalformed},
		{"two headers, one empty", []string{"X-Api-Key: " + acmeKey, "X-Api-Key:"}, tenant.Tenant{}, tenant.ErrMalformed},
		{"two values", []string{"X-Api-Key: " + acmeKey + ", " + acmeKey}, tenant.Tenant{}, tenant.ErrMalformed},
		{"two words", []string{"X-Api-Key: " + acmeKey + " " + otherKey}, tenant.Tenant{}, tenant.ErrMalformed},
		{"comma after it", []string{"X-Api-Key: " + acmeKey + ","}, tenant.Tenant{}, tenant.ErrMalformed},
		{"with a scheme", []string{"X-Api-Key: ApiKey " + acmeKey}, tenant.Tenant{}, tenant.ErrMalformed},

		{"unknown", []string{"X-Api-Key: " + lostKey}, tenant.Tenant{}, tenant.ErrInvalid},
		{"empty", []string{"X-Api-Key:"}, tenant.Tenant{}, tenant.ErrInvalid},
		{"the prefix alone", []string{"X-Api-Key: tg_"}, tenant.Tenant{}, tenant.ErrInvalid},
		{"another prefix", []string{"X-Api-Key: sentinel-7Qz"}, tenant.Tenant{}, tenant.ErrInvalid},
		{"in another case", []string{"X-Api-Key: " + strings.ToUpper(acmeKey)}, tenant.Tenant{}, tenant.ErrInvalid},
		{"less its end", []string{"X-Api-Key: " + acmeKey[:len(acmeKey)-1]}, tenant.Tenant{}, tenant.ErrInvalid},
		{"and one more", []string{"X-Api-Key: " + acmeKey + "e"}, tenant.Tenant{}, tenant.ErrInvalid},
		{"not ASCII", []string{"X-Api-Key: " + acmeKey + "\u00e9"}, tenant.Tenant{}, tenant.ErrInvalid},
		{"not UTF-8", []string{"X-Api-Key: " + acmeKey + "\xff"}, tenant.Tenant{}, tenant.ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, keys, received(t, tt.lines...), tt.want, tt.wantErr) })
	}
}

func TestAPIKeys_AfterASchemeOfTheirOwn(t *testing.T) {
	keys := newAPIKeys(t, tenant.APIKeysConfig{Scheme: "ApiKey", Prefix: "tg_"})
	tests := []struct {
		name    string
		value   string
		want    tenant.Tenant
		wantErr error
	}{
		{"good", "ApiKey " + acmeKey, acme, nil},
		{"scheme in another case", "aPIkEY " + acmeKey, acme, nil},
		{"several spaces", "ApiKey   " + acmeKey + " ", acme, nil},

		{"another scheme", "Bearer " + acmeKey, tenant.Tenant{}, tenant.ErrNoCredential},
		{"a scheme that begins like it", "ApiKeys " + acmeKey, tenant.Tenant{}, tenant.ErrNoCredential},
		{"a scheme that looks like it", "Api\u212aey " + acmeKey, tenant.Tenant{}, tenant.ErrNoCredential},
		{"no scheme", acmeKey, tenant.Tenant{}, tenant.ErrNoCredential},
		{"empty header", "", tenant.Tenant{}, tenant.ErrNoCredential},

		{"nothing after it", "ApiKey", tenant.Tenant{}, tenant.ErrMalformed},
		{"a space after it", "ApiKey ", tenant.Tenant{}, tenant.ErrMalformed},
		{"a tab after it", "ApiKey\t" + acmeKey, tenant.Tenant{}, tenant.ErrMalformed},
		{"a colon after it", "ApiKey:" + acmeKey, tenant.Tenant{}, tenant.ErrMalformed},
		{"a comma after it", "ApiKey, " + acmeKey, tenant.Tenant{}, tenant.ErrMalformed},
		{"two", "ApiKey " + acmeKey + ", ApiKey " + acmeKey, tenant.Tenant{}, tenant.ErrMalformed},
		{"two words", "ApiKey " + acmeKey + " " + acmeKey, tenant.Tenant{}, tenant.ErrMalformed},

		{"unknown", "ApiKey " + lostKey, tenant.Tenant{}, tenant.ErrInvalid},
		{"another prefix", "ApiKey sentinel-7Qz", tenant.Tenant{}, tenant.ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, keys, received(t, "Authorization: "+tt.value), tt.want, tt.wantErr)
		})
	}
	t.Run("two headers", func(t *testing.T) {
		r := received(t, "Authorization: ApiKey "+acmeKey, "Authorization: Basic Og==")
		check(t, keys, r, tenant.Tenant{}, tenant.ErrMalformed)
	})
	t.Run("in a header of its own", func(t *testing.T) {
		check(t, keys, received(t, "X-Api-Key: "+acmeKey), tenant.Tenant{}, tenant.ErrNoCredential)
	})
}

func TestAPIKeys_LeaveBearerTokensToOthers(t *testing.T) {
	for _, scheme := range []string{"Bearer", "bEaReR"} {
		keys := newAPIKeys(t, tenant.APIKeysConfig{Scheme: scheme, Prefix: "tg_"})
		tests := []struct {
			name    string
			value   string
			want    tenant.Tenant
			wantErr error
		}{
			{"key", "Bearer " + acmeKey, acme, nil},
			{"unknown key", "Bearer " + lostKey, tenant.Tenant{}, tenant.ErrInvalid},
			{"the prefix alone", "Bearer tg_", tenant.Tenant{}, tenant.ErrInvalid},
			{"token", "Bearer eyJhbGciOiJFUzI1NiJ9.e30.sentinel-7Qz", tenant.Tenant{}, tenant.ErrNoCredential},
			{"long token", "Bearer eyJ" + strings.Repeat("a", 4000), tenant.Tenant{}, tenant.ErrNoCredential},
			{"prefix in another case", "Bearer TG_sentinel-7Qz", tenant.Tenant{}, tenant.ErrNoCredential},
			{"nothing", "Bearer", tenant.Tenant{}, tenant.ErrMalformed},
			{"key and token", "Bearer " + acmeKey + ", Bearer eyJ", tenant.Tenant{}, tenant.ErrMalformed},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				check(t, keys, received(t, "Authorization: "+tt.value), tt.want, tt.wantErr)
			})
		}
	}
}

func TestAPIKeys_HeaderIsYourChoice(t *testing.T) {
	keys := newAPIKeys(t, tenant.APIKeysConfig{Header: "x-acme-KEY"})
	check(t, keys, received(t, "X-Acme-Key: "+acmeKey), acme, nil)
	check(t, keys, received(t, "X-Api-Key: "+acmeKey), tenant.Tenant{}, tenant.ErrNoCredential)
}

// TestAPIKeys_JunkIsCheap: what is no key by its looks is neither hashed, which Lookup would see, nor copied.
func TestAPIKeys_JunkIsCheap(t *testing.T) {
	lookedUp := 0
	cfg := tenant.APIKeysConfig{Prefix: "tg_", Lookup: func(context.Context, hash) (tenant.Tenant, error) {
		lookedUp++
		return acme, nil
	}}
	longest := "tg_" + strings.Repeat("k", 509)
	for name, junk := range map[string]string{
		"empty":          "",
		"one too long":   longest + "k",
		"a MiB":          "tg_" + strings.Repeat("k", 1<<20),
		"a MiB of dots":  strings.Repeat(".", 1<<20),
		"a MiB of dust":  "tg_" + strings.Repeat("\xff", 1<<20),
		"a control byte": "tg_\x1b[2J",
		"DEL":            "tg_\x7f",
		"not the prefix": "eyJ",
	} {
		header := newAPIKeys(t, cfg)
		cfg := cfg
		cfg.Scheme = "ApiKey"
		scheme := newAPIKeys(t, cfg)
		r := &http.Request{Header: http.Header{"X-Api-Key": {junk}, "Authorization": {"ApiKey x" + junk}}}
		for _, keys := range []*tenant.APIKeys{header, scheme} {
			check(t, keys, r, tenant.Tenant{}, tenant.ErrInvalid)
			if allocs := testing.AllocsPerRun(10, func() { keys.Resolve(r) }); allocs > 0 {
				t.Errorf("%s: %v allocations, want none", name, allocs)
			}
		}
	}
	if lookedUp > 0 {
		t.Errorf("%d times something was looked up that is no key", lookedUp)
	}
	check(t, newAPIKeys(t, cfg), received(t, "X-Api-Key: "+longest), acme, nil)
}

func TestAPIKeys_BadKeysLookTheSame(t *testing.T) {
	keys := newAPIKeys(t, tenant.APIKeysConfig{Prefix: "tg_"})
	texts := map[string]bool{}
	for _, bad := range []string{"", lostKey, "sentinel-7Qz", acmeKey + "x", strings.Repeat("tg_", 300), "tg_\xff"} {
		_, err := keys.Resolve(received(t, "X-Api-Key: "+bad))
		if err == nil {
			t.Fatal("a bad key was accepted")
		}
		texts[err.Error()] = true
	}
	if len(texts) != 1 {
		t.Errorf("%d texts, want one", len(texts))
	}
}
