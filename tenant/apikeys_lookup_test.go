package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// store is a service's own store of keys.
type store struct {
	tenants map[hash]tenant.Tenant
	err     error
	asked   int
}

func (s *store) lookup(ctx context.Context, h hash) (tenant.Tenant, error) {
	s.asked++
	if err := errors.Join(s.err, ctx.Err()); err != nil {
		return acme, err // a tenant beside an error does not count
	}
	t, ok := s.tenants[h]
	if !ok {
		return tenant.Tenant{}, tenant.ErrInvalid
	}
	return t, nil
}

func TestAPIKeys_LookUpWhatTheyDoNotHave(t *testing.T) {
	s := &store{tenants: map[hash]tenant.Tenant{tenant.HashAPIKey(otherKey): other, tenant.HashAPIKey(acmeKey): other}}
	keys := newAPIKeys(t, tenant.APIKeysConfig{
		Keys:   map[hash]tenant.Tenant{tenant.HashAPIKey(acmeKey): acme},
		Lookup: s.lookup,
	})
	check(t, keys, received(t), tenant.Tenant{}, tenant.ErrNoCredential)
	check(t, keys, received(t, "X-Api-Key: "+acmeKey), acme, nil)
	if s.asked > 0 {
		t.Errorf("asked %d times about no key and a key that is there, want 0", s.asked)
	}
	check(t, keys, received(t, "X-Api-Key: "+otherKey), other, nil)
	check(t, keys, received(t, "X-Api-Key: "+lostKey), tenant.Tenant{}, tenant.ErrInvalid)
	keys.Remove(tenant.HashAPIKey(acmeKey))
	check(t, keys, received(t, "X-Api-Key: "+acmeKey), other, nil)
}

func TestAPIKeys_RevocationInTheStoreHoldsAtOnce(t *testing.T) {
	s := &store{tenants: map[hash]tenant.Tenant{tenant.HashAPIKey(otherKey): other}}
	keys := newAPIKeys(t, tenant.APIKeysConfig{Lookup: s.lookup})
	r := received(t, "X-Api-Key: "+otherKey)
	check(t, keys, r, other, nil)
	check(t, keys, r, other, nil)
	delete(s.tenants, tenant.HashAPIKey(otherKey))
	check(t, keys, r, tenant.Tenant{}, tenant.ErrInvalid)
	if s.asked != 3 {
		t.Errorf("asked %d times for 3 requests", s.asked)
	}
}

func TestAPIKeys_ErrorsOfTheStore(t *testing.T) {
	down := errors.New("connection refused")
	tests := []struct {
		name string
		err  error
		want []error // all of them
		not  []error
	}{
		{"unknown", tenant.ErrInvalid, []error{tenant.ErrInvalid}, []error{tenant.ErrUnavailable}},
		{"revoked", fmt.Errorf("%w: revoked", tenant.ErrInvalid), []error{tenant.ErrInvalid}, []error{tenant.ErrUnavailable}},
		{"suspended", tenant.ErrForbidden, []error{tenant.ErrForbidden}, []error{tenant.ErrUnavailable}},
		{"malformed", tenant.ErrMalformed, []error{tenant.ErrMalformed}, []error{tenant.ErrUnavailable}},
		{"not now", retryLater{}, []error{tenant.ErrUnavailable, retryLater{}}, nil},
		{"down", down, []error{tenant.ErrUnavailable, down}, nil},
		{"too slow", context.DeadlineExceeded, []error{tenant.ErrUnavailable, context.DeadlineExceeded}, nil},
		{"a key that is there is no absence", tenant.ErrNoCredential,
			[]error{tenant.ErrUnavailable}, []error{tenant.ErrNoCredential}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			keys := newAPIKeys(t, tenant.APIKeysConfig{Lookup: (&store{err: tt.err}).lookup})
			got, err := tenant.First(keys, tenant.Anonymous("")).Resolve(received(t, "X-Api-Key: "+acmeKey))
			for _, want := range tt.want {
				if !errors.Is(err, want) {
					t.Errorf("error %v, want one that matches %v", err, want)
				}
			}
			for _, not := range tt.not {
				if errors.Is(err, not) {
					t.Errorf("error %v, want none that matches %v", err, not)
				}
			}
			if got != (tenant.Tenant{}) {
				t.Errorf("tenant %v beside an error", got)
			}
		})
	}
}

type retryLater struct{}

func (retryLater) Error() string   { return "retry later" }
func (retryLater) Is(e error) bool { return e == tenant.ErrUnavailable }

func TestAPIKeys_ClientLeavesDuringTheLookup(t *testing.T) {
	s := &store{tenants: map[hash]tenant.Tenant{tenant.HashAPIKey(acmeKey): acme}}
	keys := newAPIKeys(t, tenant.APIKeysConfig{Lookup: s.lookup})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check(t, keys, received(t, "X-Api-Key: "+acmeKey).WithContext(ctx), tenant.Tenant{}, context.Canceled)
}

func TestAPIKeys_StoreIsTrustedNoFurtherThanATokenIs(t *testing.T) {
	tests := []struct {
		name    string
		found   tenant.Tenant
		want    tenant.Tenant
		wantErr error
		ignored uint64
	}{
		{"no ID", tenant.Tenant{}, tenant.Tenant{}, tenant.ErrForbidden, 0},
		{"anonymous", tenant.Tenant{ID: tenant.AnonymousID}, tenant.Tenant{}, tenant.ErrForbidden, 0},
		{"no tenant's ID", tenant.Tenant{ID: "7Qz\n"}, tenant.Tenant{}, tenant.ErrForbidden, 0},
		{"no tier's name", tenant.Tenant{ID: "a", Tier: "7Qz\n", Subject: "s"}, tenant.Tenant{ID: "a", Subject: "s"}, nil, 1},
		{"a policy's name", tenant.Tenant{ID: "a", Tier: "cluster"}, tenant.Tenant{ID: "a"}, nil, 1},
		{"good", acme, acme, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &store{tenants: map[hash]tenant.Tenant{tenant.HashAPIKey(acmeKey): tt.found}}
			keys := newAPIKeys(t, tenant.APIKeysConfig{Lookup: s.lookup})
			check(t, keys, received(t, "X-Api-Key: "+acmeKey), tt.want, tt.wantErr)
			if got := keys.IgnoredTierClaims(); got != tt.ignored {
				t.Errorf("%d tiers ignored, want %d", got, tt.ignored)
			}
		})
	}
}
