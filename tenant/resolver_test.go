package tenant_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

type resolverFunc func(*http.Request) (tenant.Tenant, error)

func (f resolverFunc) Resolve(r *http.Request) (tenant.Tenant, error) { return f(r) }

// answers returns a resolver that answers always the same, and counts in calls.
func answers(calls *int, t tenant.Tenant, err error) tenant.Resolver {
	return resolverFunc(func(*http.Request) (tenant.Tenant, error) { *calls++; return t, err })
}

func TestFirst_AsksTheNextOnlyWithoutCredential(t *testing.T) {
	absent := fmt.Errorf("no cookie: %w", tenant.ErrNoCredential)
	other := errors.New("database is down")
	second := tenant.Tenant{ID: "second"}
	tests := []struct {
		name  string
		first error
		want  error
		asked int
	}{
		{"absent", absent, nil, 1},
		{"good", nil, nil, 0},
		{"present but invalid", fmt.Errorf("%w: expired", tenant.ErrInvalid), tenant.ErrInvalid, 0},
		{"malformed", tenant.ErrMalformed, tenant.ErrMalformed, 0},
		{"forbidden", tenant.ErrForbidden, tenant.ErrForbidden, 0},
		{"not to be judged now", tenant.ErrUnavailable, tenant.ErrUnavailable, 0},
		{"any other fault", other, other, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var calls, asked int
			r := tenant.First(answers(&calls, acme, tt.first), answers(&asked, second, nil))
			got, err := r.Resolve(httptest.NewRequest("GET", "/", nil))
			if !errors.Is(err, tt.want) || calls != 1 || asked != tt.asked {
				t.Errorf("error %v after asking the first %d and the second %d times; want %v, 1, %d",
					err, calls, asked, tt.want, tt.asked)
			}
			if want := [...]tenant.Tenant{acme, second}[tt.asked]; err == nil && got != want {
				t.Errorf("tenant %v, want %v", got, want)
			}
		})
	}
}

func TestFirst_NobodyKnowsTheCredential(t *testing.T) {
	var calls int
	absent := answers(&calls, tenant.Tenant{}, tenant.ErrNoCredential)
	for _, r := range []tenant.Resolver{tenant.First(), tenant.First(absent, absent), tenant.First(tenant.First(absent))} {
		if got, err := r.Resolve(httptest.NewRequest("GET", "/", nil)); !errors.Is(err, tenant.ErrNoCredential) {
			t.Errorf("Resolve = %v, %v, want ErrNoCredential", got, err)
		}
	}
	if calls != 3 {
		t.Errorf("asked %d times, want 3", calls)
	}
}

func TestFirst_ChecksCannotBeTakenOutLater(t *testing.T) {
	var strict, lax int
	resolvers := []tenant.Resolver{answers(&strict, tenant.Tenant{}, tenant.ErrInvalid)}
	r := tenant.First(resolvers...)
	resolvers[0] = answers(&lax, acme, nil)
	if got, err := r.Resolve(httptest.NewRequest("GET", "/", nil)); !errors.Is(err, tenant.ErrInvalid) {
		t.Errorf("Resolve = %v, %v, want the resolver that was given", got, err)
	}
	var none *tenant.APIKeys // of a constructor whose error nobody looked at
	for name, absent := range map[string]tenant.Resolver{"nil": nil, "a nil pointer": none} {
		if text := panicText(func() { tenant.First(r, absent) }); text != "tenant: First: resolver 1 is nil" {
			t.Errorf("First with %s panics with %q", name, text)
		}
		if text := panicText(func() { tenant.Subdomain("example.com", absent) }); text != "tenant: Subdomain: resolver is nil" {
			t.Errorf("Subdomain with %s panics with %q", name, text)
		}
	}
}
