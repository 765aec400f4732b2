package tenant_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// names are texts that are, and are not, names of tenants and of tiers.
var names = []struct {
	name string
	text string
	ok   bool
}{
	{"one letter", "a", true},
	{"one digit", "7", true},
	{"all of the alphabet", "AZaz09._-", true},
	{"the longest", strings.Repeat("x", 128), true},
	{"dots in a row", "a..b", true},
	{"a final dash", "a-", true},

	{"empty", "", false},
	{"129 bytes", strings.Repeat("x", 129), false},
	{"begins with an underscore", "_x", false},
	{"the metrics' other", "__other__", false},
	{"begins with a dot", ".x", false},
	{"begins with a dash", "-x", false},
	{"path upwards", "../x", false},
	{"slash", "a/b", false},
	{"colon", "a:b", false},
	{"braces", "{a}", false},
	{"space inside", "a b", false},
	{"space after", "a ", false},
	{"line break inside", "a\nb", false},
	{"line break after", "a\n", false},
	{"NUL", "a\x00", false},
	{"DEL", "a\x7f", false},
	{"right-to-left override", "a\u202eb", false},
	{"zero-width space", "a\u200bb", false},
	{"Cyrillic letter", "\u0430cme", false},
	{"accented letter", "caf\u00e9", false},
	{"fullwidth digit", "a\uff11", false},
	{"not UTF-8", "a\xff", false},
}

func TestID_Alphabet(t *testing.T) {
	for _, tt := range names {
		t.Run(tt.name, func(t *testing.T) {
			if got := tenant.ValidID(tt.text); got != tt.ok {
				t.Errorf("ValidID(%q) = %t, want %t", tt.text, got, tt.ok)
			}
			if err := tenant.CheckID(tt.text); (err == nil) != tt.ok || err != nil && !errors.Is(err, tenant.ErrInvalidID) {
				t.Errorf("CheckID(%q) = %v, want ok %t", tt.text, err, tt.ok)
			}
		})
	}
}

func TestID_AnonymousIsOursAlone(t *testing.T) {
	if tenant.ValidID(tenant.AnonymousID) {
		t.Errorf("ValidID(%q): a credential could name it", tenant.AnonymousID)
	}
	if err := tenant.CheckID(tenant.AnonymousID); err != nil {
		t.Errorf("CheckID(%q) = %v, want nil", tenant.AnonymousID, err)
	}
}

func TestID_RefusalDoesNotEchoIt(t *testing.T) {
	const id = "evil\nline"
	tiers := catalogue(t)
	for _, err := range []error{tenant.CheckID(id), tiers.Assign(id, "pro")} {
		if err == nil || strings.Contains(err.Error(), "evil") {
			t.Errorf("error %v, want one that does not repeat the ID", err)
		}
	}
}

func FuzzValidID(f *testing.F) {
	for _, tt := range names {
		f.Add(tt.text)
	}
	alphabet := regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,127}\z`)
	f.Fuzz(func(t *testing.T, id string) {
		if got, want := tenant.ValidID(id), alphabet.MatchString(id); got != want {
			t.Errorf("ValidID(%q) = %t, want %t", id, got, want)
		}
	})
}
