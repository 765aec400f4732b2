package tenant_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/tenant"
)

var acme = tenant.Tenant{
	ID:       "acme",
	Tier:     "pro",
	TierAsOf: time.Unix(1_700_000_000, 0),
	Subject:  "user-4711",
	Claims:   `{"email":"ceo@example.com","level":3}`,
}

// leaks says what of acme's secrets is in text, in plain or in hexadecimal.
func leaks(text string) string {
	for _, secret := range []string{acme.Subject, "ceo@example.com", "email"} {
		for _, format := range []string{"%s", "%x", "%X", "% x"} {
			if form := fmt.Sprintf(format, secret); strings.Contains(text, form) {
				return form
			}
		}
	}
	return ""
}

func TestTenant_FormatsAsIDAndTier(t *testing.T) {
	type exported struct{ Who tenant.Tenant }
	values := map[string]any{
		"value":   acme,
		"pointer": &acme,
		"slice":   []tenant.Tenant{acme},
		"map":     map[string]tenant.Tenant{"x": acme},
		"field":   exported{acme},
		"context": tenant.NewContext(t.Context(), acme),
	}
	for name, v := range values {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%-40s", "%.200v"} {
			if name == "context" && format == "%#v" {
				continue // prints addresses only, by way of an unexported field
			}
			got := fmt.Sprintf(format, v)
			if secret := leaks(got); secret != "" {
				t.Errorf("Sprintf(%q, %s) = %s: shows %q", format, name, got, secret)
			}
		}
		if got := fmt.Sprint(v); name != "context" && !strings.Contains(got, "acme (pro)") {
			t.Errorf("Sprint(%s) = %s, want it to show acme (pro)", name, got)
		}
	}
	if got := fmt.Sprint(tenant.Tenant{ID: "acme"}); got != "acme" {
		t.Errorf("without a tier: %q, want acme", got)
	}
}

func TestTenant_LogsAsIDAndTier(t *testing.T) {
	var out bytes.Buffer
	options := &slog.HandlerOptions{ReplaceAttr: withoutTime}
	for _, h := range []slog.Handler{slog.NewJSONHandler(&out, options), slog.NewTextHandler(&out, options)} {
		slog.New(h).Info("m", "value", acme, "pointer", &acme)
	}
	want := `{"level":"INFO","msg":"m","value":{"id":"acme","tier":"pro"},"pointer":{"id":"acme","tier":"pro"}}
level=INFO msg=m value.id=acme value.tier=pro pointer.id=acme pointer.tier=pro
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("log lines (-want +got):\n%s", diff)
	}
}

func TestTenant_DecodesItsClaims(t *testing.T) {
	var got struct {
		Email string `json:"email"`
		Level int    `json:"level"`
	}
	if err := acme.DecodeClaims(&got); err != nil || got.Email != "ceo@example.com" || got.Level != 3 {
		t.Errorf("DecodeClaims = %+v, %v", got, err)
	}
	if err := (tenant.Tenant{ID: "acme"}).DecodeClaims(&got); !errors.Is(err, tenant.ErrNoClaims) {
		t.Errorf("DecodeClaims without claims = %v, want ErrNoClaims", err)
	}
	var wrong struct {
		Email int `json:"email"`
	}
	err := acme.DecodeClaims(&wrong)
	if err == nil || !strings.HasPrefix(err.Error(), "tenant: claims: ") || strings.Contains(err.Error(), "ceo@") {
		t.Errorf("DecodeClaims into the wrong type = %v, want an error of this package without the claim", err)
	}
}

func TestAssertion_Merge(t *testing.T) {
	says := func(tier string, second int64) tenant.Assertion {
		return tenant.Assertion{Tier: tier, AsOf: time.Unix(second, 0)}
	}
	undated := func(tier string) tenant.Assertion { return tenant.Assertion{Tier: tier} }
	nothing := tenant.Assertion{}
	tests := []struct {
		name              string
		known, next, want tenant.Assertion
	}{
		{"nothing, then nothing", nothing, nothing, nothing},
		{"the first", nothing, says("pro", 1), says("pro", 1)},
		{"the first, undated", nothing, undated("pro"), undated("pro")},
		{"later", says("free", 1), says("pro", 2), says("pro", 2)},
		{"older", says("pro", 2), says("free", 1), says("pro", 2)},
		{"as old", says("free", 1), says("pro", 1), says("pro", 1)},
		{"undated, after a dated one", says("pro", 1), undated("free"), says("pro", 1)},
		{"dated, after an undated one", undated("free"), says("pro", 1), says("pro", 1)},
		{"both undated", undated("free"), undated("pro"), undated("pro")},
		{"later, but empty", says("pro", 1), says("", 2), says("pro", 1)},
		{"older, but after an empty one", says("", 2), says("pro", 1), says("pro", 1)},
		{"the same tier, later", says("pro", 1), says("pro", 2), says("pro", 2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.known.Merge(tt.next); got != tt.want {
				t.Errorf("%v.Merge(%v) = %v, want %v", tt.known, tt.next, got, tt.want)
			}
		})
	}
}

// Whatever order tokens arrive in, the tier is that of the latest one that names a tier.
func TestAssertion_LatestWinsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.SliceOfNDistinct(rapid.Int64Range(-1e9, 4e9), 1, 12, rapid.ID[int64]).Draw(t, "seconds")
		var known, latest tenant.Assertion
		for _, s := range seconds {
			tier := rapid.SampledFrom([]string{"", "free", "pro"}).Draw(t, "tier")
			next := tenant.Assertion{Tier: tier, AsOf: time.Unix(s, 0)}
			known = known.Merge(next)
			if next.Tier != "" && (latest.Tier == "" || next.AsOf.After(latest.AsOf)) {
				latest = next
			}
		}
		if known.Tier != latest.Tier || latest.Tier != "" && known != latest {
			t.Fatalf("order %v ends with %v, want %v", seconds, known, latest)
		}
	})
}

func TestContext_CarriesTenant(t *testing.T) {
	if got, ok := tenant.FromContext(t.Context()); ok || got != (tenant.Tenant{}) {
		t.Errorf("FromContext of a bare context = %v, %t, want none", got, ok)
	}
	ctx := tenant.NewContext(t.Context(), acme)
	if got, ok := tenant.FromContext(ctx); !ok || got != acme {
		t.Errorf("FromContext = %v, %t, want %v", got, ok, acme)
	}
	inner := tenant.NewContext(ctx, tenant.Tenant{ID: "other"})
	if got, _ := tenant.FromContext(inner); got.ID != "other" {
		t.Errorf("the inner tenant is %v, want other", got)
	}
	if got, _ := tenant.FromContext(ctx); got != acme {
		t.Errorf("the outer tenant became %v", got)
	}
}

type contextKey struct{}

func TestContext_KeyCollidesWithNobody(t *testing.T) {
	ctx := tenant.NewContext(t.Context(), acme)
	for _, key := range []any{"tenant", "tenantID", struct{}{}, contextKey{}} {
		ctx = context.WithValue(ctx, key, tenant.Tenant{ID: "evil"})
	}
	if got, ok := tenant.FromContext(ctx); !ok || got != acme {
		t.Errorf("FromContext = %v, %t, want %v", got, ok, acme)
	}
}

func TestDetach_KeepsTheTenantAndNothingElse(t *testing.T) {
	request, cancel := context.WithTimeout(context.WithValue(t.Context(), contextKey{}, "route"), time.Hour)
	job := tenant.Detach(tenant.NewContext(request, acme))
	cancel()
	if got, ok := tenant.FromContext(job); !ok || got != acme {
		t.Errorf("tenant of the job: %v, %t, want %v", got, ok, acme)
	}
	if err := job.Err(); err != nil {
		t.Errorf("the job ended with its request: %v", err)
	}
	if deadline, ok := job.Deadline(); ok {
		t.Errorf("the job has its request's deadline %v", deadline)
	}
	if v := job.Value(contextKey{}); v != nil {
		t.Errorf("the job has its request's value %v", v)
	}
}

func TestDetach_WithoutTenant(t *testing.T) {
	request, cancel := context.WithCancel(t.Context())
	job := tenant.Detach(request)
	cancel()
	if got, ok := tenant.FromContext(job); ok || job.Err() != nil {
		t.Errorf("the job has tenant %v (%t) and error %v, want neither", got, ok, job.Err())
	}
}

func TestRefusal_MatchesItsCauseAndNamesNobody(t *testing.T) {
	var err error = &tenant.Refusal{
		Reason: tenant.ReasonShare, Tier: "pro", Policy: "pro", RetryAfter: time.Second, Cause: context.DeadlineExceeded,
	}
	if want := "tenant: refused: share"; err.Error() != want {
		t.Errorf("Error() = %q, want %q", err, want)
	}
	err = fmt.Errorf("calling: %w", err)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("%v must match its cause and nothing else", err)
	}
	if r, ok := errors.AsType[*tenant.Refusal](err); !ok || r.Reason != tenant.ReasonShare {
		t.Errorf("AsType = %v, %t", r, ok)
	}
	if err := error(&tenant.Refusal{Reason: tenant.ReasonPlan}); errors.Unwrap(err) != nil {
		t.Errorf("a refusal without cause unwraps to %v", errors.Unwrap(err))
	}
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
