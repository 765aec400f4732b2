package tenant_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// keyForm is a way to send keys that begin with "tg_", as regular expressions.
type keyForm struct {
	scheme string
	ours   *regexp.Regexp // headers that no other resolver should have
	key    *regexp.Regexp // its submatch is the key, or keys
}

var keyForms = []keyForm{
	{"", regexp.MustCompile(``), regexp.MustCompile(`(?s)\A(.*)\z`)},
	{"ApiKey",
		regexp.MustCompile("\\A[Aa][Pp][Ii][Kk][Ee][Yy](\\z|[^-!#$%&'*+.^_`|~0-9A-Za-z])"),
		regexp.MustCompile(`(?s)\A[A-Za-z]{6} +([^ ].*)\z`)},
	{"Bearer",
		regexp.MustCompile("\\A[Bb][Ee][Aa][Rr][Ee][Rr](\\z|[^-!#$%&'*+.^_`|~0-9A-Za-z])"),
		regexp.MustCompile(`(?s)\A[A-Za-z]{6} +([^ ].*)\z`)},
}

// judge returns what Resolve has to say of a header.
func (f keyForm) judge(header string) error {
	header = strings.Trim(header, " \t")
	if !f.ours.MatchString(header) {
		return tenant.ErrNoCredential
	}
	match := f.key.FindStringSubmatch(header)
	switch {
	case match == nil:
		return tenant.ErrMalformed
	case f.scheme == "Bearer" && !strings.HasPrefix(match[1], "tg_"):
		return tenant.ErrNoCredential
	case match[1] == acmeKey:
		return nil
	case len(match[1]) <= 512 && strings.ContainsAny(match[1], " \t,"):
		return tenant.ErrMalformed
	}
	return tenant.ErrInvalid
}

func FuzzAPIKeys_Credential(f *testing.F) {
	befores := []string{"", " \t", "ApiKey ", "aPIkey  ", "ApiKey", "ApiKey\t", "ApiKey:", "Bearer ", "bEARER  "}
	keys := []string{acmeKey, lostKey, "", "tg_", "tg_\xff", acmeKey + "," + acmeKey, acmeKey + " x", "eyJ.e30.x"}
	for _, before := range befores {
		for _, key := range keys {
			f.Add(before + key)
		}
	}
	f.Add("Bearer tg_" + strings.Repeat("k", 509))
	f.Add("Bearer tg_" + strings.Repeat("k", 509) + ",")
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"X-Api-Key": {header}, "Authorization": {header}}}
		for _, form := range keyForms {
			keys, err := tenant.NewAPIKeys(tenant.APIKeysConfig{
				Scheme: form.scheme, Prefix: "tg_", Keys: map[hash]tenant.Tenant{tenant.HashAPIKey(acmeKey): acme},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := keys.Resolve(r)
			if want := form.judge(header); !errors.Is(err, want) || (got == acme) != (want == nil) {
				t.Errorf("scheme %q: %v, %v; want %v", form.scheme, got, err, want)
			}
		}
	})
}
