package tenant_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/internal/sentinel"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestNewAPIKeys_FaultsNameTheirFields(t *testing.T) {
	long := strings.Repeat("p", 129)
	tests := []struct {
		name string
		cfg  tenant.APIKeysConfig
		want []string // the fields; none: no error
	}{
		{"zero", tenant.APIKeysConfig{}, nil},
		{"header", tenant.APIKeysConfig{Header: "x_key"}, nil},
		{"scheme", tenant.APIKeysConfig{Scheme: "Token"}, nil},
		{"longest prefix", tenant.APIKeysConfig{Prefix: long[1:]}, nil},
		{"bearer with a prefix", tenant.APIKeysConfig{Scheme: "Bearer", Prefix: "ey_"}, nil},

		{"header with a space", tenant.APIKeysConfig{Header: "X Key"}, []string{"Header"}},
		{"header with a colon", tenant.APIKeysConfig{Header: "X-Key:"}, []string{"Header"}},
		{"header with a line break", tenant.APIKeysConfig{Header: "X-Key\n"}, []string{"Header"}},
		{"header beyond ASCII", tenant.APIKeysConfig{Header: "X-K\u00e9y"}, []string{"Header"}},
		{"header Authorization", tenant.APIKeysConfig{Header: "authorization"}, []string{"Header"}},
		{"header Cookie", tenant.APIKeysConfig{Header: "cookie"}, []string{"Header"}},
		{"header Host, which net/http takes out", tenant.APIKeysConfig{Header: "HOST"}, []string{"Header"}},
		{"header and scheme", tenant.APIKeysConfig{Header: "X-Key", Scheme: "Token"}, []string{"Header"}},
		{"scheme with a space", tenant.APIKeysConfig{Scheme: "Api Key"}, []string{"Scheme"}},
		{"scheme beyond ASCII", tenant.APIKeysConfig{Scheme: "Api\u212aey"}, []string{"Scheme"}},
		{"prefix with a space", tenant.APIKeysConfig{Prefix: "tg "}, []string{"Prefix"}},
		{"prefix with a comma", tenant.APIKeysConfig{Prefix: "tg,"}, []string{"Prefix"}},
		{"prefix beyond ASCII", tenant.APIKeysConfig{Prefix: "t\u00e9"}, []string{"Prefix"}},
		{"prefix too long", tenant.APIKeysConfig{Prefix: long}, []string{"Prefix"}},
		{"bearer without a prefix", tenant.APIKeysConfig{Scheme: "bearer"}, []string{"Prefix"}},
		{"bearer with a token's prefix", tenant.APIKeysConfig{Scheme: "Bearer", Prefix: "eyJh"}, []string{"Prefix"}},
		{"bearer with part of a token's prefix", tenant.APIKeysConfig{Scheme: "Bearer", Prefix: "e"}, []string{"Prefix"}},
		{"tenants", tenant.APIKeysConfig{Keys: map[hash]tenant.Tenant{
			{1}: {}, {2}: {ID: tenant.AnonymousID}, {3}: {ID: "a", Tier: "day"}, {4}: {ID: "a", Tier: "7Qz\n"}, {5}: acme,
		}}, []string{"Keys[01000000...]", "Keys[02000000...]", "Keys[03000000...]", "Keys[04000000...]"}},
		{"everything", tenant.APIKeysConfig{
			Header: "\n", Scheme: "\n", Prefix: "\n", Keys: map[hash]tenant.Tenant{{}: {ID: "7Qz\n"}},
		}, []string{"Header", "Scheme", "Prefix", "Keys[00000000...]"}},
	}
	field := regexp.MustCompile(`tenant: APIKeysConfig\.([^:]+): `)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			keys, err := tenant.NewAPIKeys(tt.cfg)
			var got []string
			for _, match := range field.FindAllStringSubmatch(fmt.Sprint(err), -1) {
				got = append(got, match[1])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want == nil) || (err == nil) != (keys != nil) {
				t.Errorf("error %v; fields (-want +got):\n%s", err, diff)
			}
			if strings.Contains(fmt.Sprint(err), "7Qz") {
				t.Errorf("the error repeats a tenant's ID or tier: %v", err)
			}
		})
	}
}

func TestNewAPIKeys_MapIsCopied(t *testing.T) {
	cfg := tenant.APIKeysConfig{Keys: map[hash]tenant.Tenant{tenant.HashAPIKey(acmeKey): acme}}
	keys := newAPIKeys(t, cfg)
	cfg.Keys[tenant.HashAPIKey(acmeKey)] = other
	check(t, keys, received(t, "X-Api-Key: "+acmeKey), acme, nil)
}

func TestHashAPIKey_IsSHA256(t *testing.T) {
	for _, n := range []int{0, 1, 29, 511, 512, 513, 5000} {
		key := strings.Repeat("k", n)
		if got, want := tenant.HashAPIKey(key), sha256.Sum256([]byte(key)); got != want {
			t.Errorf("hash of %d bytes = %x, want %x", n, got, want)
		}
	}
}

func TestNewAPIKey_IsGoodAndNeverTheSame(t *testing.T) {
	form := regexp.MustCompile(`\Asentinel-7Qz_[A-Z2-7]{26,}\z`) // 5 bits each
	keys := newAPIKeys(t, tenant.APIKeysConfig{Scheme: "Bearer", Prefix: "sentinel-7Qz_"})
	seen := map[string]bool{}
	for i := range 100 {
		key, h := tenant.GenerateAPIKey("sentinel-7Qz_")
		if seen[key] || !form.MatchString(key) || h != tenant.HashAPIKey(key) {
			t.Fatalf("key %d is the same as one before, of another form, or not of its hash", i)
		}
		seen[key] = true
		if err := keys.Set(h, acme); err != nil {
			t.Fatal(err)
		}
		check(t, keys, received(t, "Authorization: Bearer "+key), acme, nil)
	}
}

func TestNewAPIKey_PrefixThatNoKeyCanHave(t *testing.T) {
	for _, prefix := range []string{"a b", "a,", "\u00e9", "a\n", strings.Repeat("p", 129)} {
		if text := panicText(func() { tenant.GenerateAPIKey(prefix) }); !strings.HasPrefix(text, "tenant: GenerateAPIKey: prefix") {
			t.Errorf("GenerateAPIKey(%.20q) panics with %q, want one that names the prefix", prefix, text)
		}
	}
	if key, _ := tenant.GenerateAPIKey(""); len(key) < 26 {
		t.Errorf("a key without a prefix has %d bytes, want 26 or more", len(key))
	}
}

// panicText returns what f panics with, "" for nothing.
func panicText(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// TestAPIKeys_PrintingShowsNoSecret: neither a key, nor the claims of a tenant, however a log line is written.
func TestAPIKeys_PrintingShowsNoSecret(t *testing.T) {
	cfg := tenant.APIKeysConfig{Keys: map[hash]tenant.Tenant{tenant.HashAPIKey(acmeKey): acme}}
	keys := newAPIKeys(t, cfg)
	check(t, keys, received(t, "X-Api-Key: "+acmeKey), acme, nil)
	_, unknown := keys.Resolve(received(t, "X-Api-Key: "+lostKey))
	misplaced := acmeKey + "\n"
	_, inWrongFields := tenant.NewAPIKeys(tenant.APIKeysConfig{Header: misplaced, Scheme: misplaced, Prefix: misplaced})
	_, asHeader := tenant.NewAPIKeys(tenant.APIKeysConfig{Header: acmeKey, Scheme: "ApiKey"})
	for name, v := range map[string]any{
		"APIKeys":              keys,
		"First of them":        tenant.First(keys, tenant.Anonymous("")),
		"Subdomain of them":    tenant.Subdomain("example.com", keys),
		"APIKeysConfig":        cfg,
		"error of unknown":     unknown,
		"keys in wrong fields": inWrongFields,
		"key as a header":      asHeader,
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			if name == "APIKeysConfig" && verb == "%d" {
				continue // a Tenant keeps its claims from the verbs that are for text
			}
			fmt.Fprintf(&out, verb+"\n", v)
			fmt.Fprintf(&out, verb+"\n", struct{ hidden any }{v})
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
		text := out.String()
		for _, format := range []string{"%s", "%x", "%X", "%d"} {
			if form := strings.Trim(fmt.Sprintf(format, []byte(sentinel.Text)), "[]"); strings.Contains(text, form) {
				t.Errorf("%s is printed with a key, as %s does", name, format)
			}
		}
		if secret := leaks(text); secret != "" && name != "APIKeysConfig" {
			t.Errorf("%s is printed with %q of a tenant", name, secret)
		}
	}
}
