package tenant_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
)

// catalogue returns one of tiers free (the default) and pro.
func catalogue(t *testing.T) *tenant.Tiers {
	t.Helper()
	tiers, err := tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Share: 2},
		tenant.Tier{Name: "pro", Rate: 20, Burst: 60, Share: 6},
	)
	if err != nil {
		t.Fatal(err)
	}
	return tiers
}

func TestTier_Faults(t *testing.T) {
	const tooMany = 1_000_000_000_000_000
	const units = ", want 0 to 999999999999999"
	tests := []struct {
		name string
		tier tenant.Tier
		want string
	}{
		{"rate NaN", tenant.Tier{Rate: math.NaN()}, "Rate is NaN, want a finite number of 0 or more"},
		{"rate infinite", tenant.Tier{Rate: math.Inf(1)}, "Rate is +Inf, want a finite number of 0 or more"},
		{"rate infinite, negative", tenant.Tier{Rate: math.Inf(-1)}, "Rate is -Inf, want a finite number of 0 or more"},
		{"rate negative", tenant.Tier{Rate: -1}, "Rate is -1, want a finite number of 0 or more"},
		{"burst negative", tenant.Tier{Burst: -1}, "Burst is -1" + units},
		{"share negative", tenant.Tier{Share: -1}, "Share is -1, want 0 to 1000000000"},
		{"share too large", tenant.Tier{Share: 1_000_000_001}, "Share is 1000000001, want 0 to 1000000000"},
		{"ceiling negative", tenant.Tier{Ceiling: -1}, "Ceiling is -1, want 0 to 1000000000"},
		{"ceiling too large", tenant.Tier{Ceiling: 1_000_000_001}, "Ceiling is 1000000001, want 0 to 1000000000"},
		{"streams negative", tenant.Tier{Streams: -1}, "Streams is -1, want 0 to 1000000000"},
		{"streams too large", tenant.Tier{Streams: 1_000_000_001}, "Streams is 1000000001, want 0 to 1000000000"},
		{"ceiling below share", tenant.Tier{Share: 6, Ceiling: 5}, "Ceiling is 5, want 0 or at least the Share of 6"},
		{"second negative", tenant.Tier{Quotas: tenant.Quotas{Second: -1}}, "Quotas.Second is -1" + units},
		{"minute too large", tenant.Tier{Quotas: tenant.Quotas{Minute: tooMany}}, "Quotas.Minute is 1000000000000000" + units},
		{"hour too large", tenant.Tier{Quotas: tenant.Quotas{Hour: math.MaxInt64}}, "Quotas.Hour is 9223372036854775807" + units},
		{"day negative", tenant.Tier{Quotas: tenant.Quotas{Day: math.MinInt64}}, "Quotas.Day is -9223372036854775808" + units},
		{"month negative", tenant.Tier{Quotas: tenant.Quotas{Month: -5}}, "Quotas.Month is -5" + units},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.tier.Name = "gold"
			want := `tenant: tier "gold": ` + tt.want
			if _, err := tenant.NewTiers("gold", tt.tier); err == nil || err.Error() != want {
				t.Errorf("NewTiers: %v\nwant: %s", err, want)
			}
			if err := catalogue(t).Define(tt.tier); err == nil || err.Error() != want {
				t.Errorf("Define: %v\nwant: %s", err, want)
			}
		})
	}
}

func TestTier_LimitsThatAreNoFaults(t *testing.T) {
	for _, tier := range []tenant.Tier{
		{}, // a tier of which neither limiter nor pool wants anything
		{Rate: tenant.Unlimited},
		{Rate: math.SmallestNonzeroFloat64, Burst: 1},
		{Share: 5, Ceiling: 5},
		{Share: 1_000_000_000, Ceiling: 1_000_000_000, Streams: 1_000_000_000},
		{Streams: 1}, // whatever the share
		{Quotas: tenant.Quotas{Second: 999_999_999_999_999, Month: 999_999_999_999_999}},
	} {
		tier.Name = "gold"
		if _, err := tenant.NewTiers("gold", tier); err != nil {
			t.Errorf("NewTiers(%+v): %v", tier, err)
		}
	}
}

func TestTier_NameAlphabet(t *testing.T) {
	for _, tt := range names {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tenant.NewTiers(tt.text, tenant.Tier{Name: tt.text})
			if (err == nil) != tt.ok {
				t.Fatalf("tier name %q: %v, want ok %t", tt.text, err, tt.ok)
			}
			if err != nil && (strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "Name must be 1 to 128")) {
				t.Errorf("error %q, want one line that says what a name is", err)
			}
		})
	}
}

func TestTier_NameIsNoPolicy(t *testing.T) {
	for _, name := range []string{"cluster", "second", "minute", "hour", "day", "month"} {
		_, err := tenant.NewTiers(name, tenant.Tier{Name: name})
		if want := `tenant: tier "` + name + `": Name is the name of a policy`; err == nil || err.Error() != want {
			t.Errorf("tier %s: %v\nwant: %s", name, err, want)
		}
	}
	if _, err := tenant.NewTiers("Day", tenant.Tier{Name: "Day"}, tenant.Tier{Name: "daily"}); err != nil {
		t.Errorf("names are case-sensitive and compared whole: %v", err)
	}
}

func TestTiers_AllFaultsAtOnce(t *testing.T) {
	_, err := tenant.NewTiers("gold",
		tenant.Tier{Name: "free", Rate: -1, Burst: -2, Share: 3, Ceiling: 2},
		tenant.Tier{Name: "day", Share: -1},
		tenant.Tier{Name: "a b", Quotas: tenant.Quotas{Month: -1}},
		tenant.Tier{Name: "pro"},
		tenant.Tier{Name: "pro", Rate: math.Inf(1)},
		tenant.Tier{Name: strings.Repeat("x", 1000)},
	)
	if err == nil {
		t.Fatal("no error")
	}
	const alphabet = "Name must be 1 to 128 letters, digits, '.', '_' and '-', a letter or digit first"
	want := []string{
		`tenant: tier "free": Rate is -1, want a finite number of 0 or more`,
		`tenant: tier "free": Burst is -2, want 0 to 999999999999999`,
		`tenant: tier "free": Ceiling is 2, want 0 or at least the Share of 3`,
		`tenant: tier "day": Name is the name of a policy`,
		`tenant: tier "day": Share is -1, want 0 to 1000000000`,
		`tenant: tier "a b": ` + alphabet,
		`tenant: tier "a b": Quotas.Month is -1, want 0 to 999999999999999`,
		`tenant: tier "pro": Rate is +Inf, want a finite number of 0 or more`,
		`tenant: tier "pro": Name is given twice`,
		`tenant: tier "` + strings.Repeat("x", 140) + `": ` + alphabet,
		`tenant: the default tier "gold" is none of the tiers`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestTiers_NeedADefault(t *testing.T) {
	for _, fallback := range []string{"", "Free", "gold"} {
		if _, err := tenant.NewTiers(fallback, tenant.Tier{Name: "free"}); err == nil {
			t.Errorf("default %q of a catalogue of free alone: no error", fallback)
		}
	}
	if _, err := tenant.NewTiers("free"); err == nil {
		t.Error("a catalogue of no tiers: no error")
	}
}
