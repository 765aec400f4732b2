package tenant_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
)

func TestTiers_ForPrefersAssignmentThenAssertionThenDefault(t *testing.T) {
	tiers := catalogue(t)
	if err := tiers.Assign("vip", "pro"); err != nil {
		t.Fatal(err)
	}
	if err := tiers.Assign("fallen", "free"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		t    tenant.Tenant
		want string
	}{
		{"asserted", tenant.Tenant{ID: "acme", Tier: "pro"}, "pro"},
		{"nothing asserted", tenant.Tenant{ID: "acme"}, "free"},
		{"unknown tier", tenant.Tenant{ID: "acme", Tier: "gold"}, "free"},
		{"tier in another case", tenant.Tenant{ID: "acme", Tier: "PRO"}, "free"},
		{"assigned up", tenant.Tenant{ID: "vip", Tier: "free"}, "pro"},
		{"assigned down", tenant.Tenant{ID: "fallen", Tier: "pro"}, "free"},
		{"assigned, whatever a later token says",
			tenant.Tenant{ID: "fallen", Tier: "pro", TierAsOf: time.Now().Add(time.Hour)}, "free"},
		{"ID in another case than the assigned", tenant.Tenant{ID: "VIP", Tier: "free"}, "free"},
		{"anonymous", tenant.Tenant{ID: tenant.AnonymousID}, "free"},
		{"zero", tenant.Tenant{}, "free"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tiers.For(tt.t).Name; got != tt.want {
				t.Errorf("For(%v) = %s, want %s", tt.t, got, tt.want)
			}
		})
	}
	tiers.Unassign("fallen")
	tiers.Unassign("fallen")
	if got := tiers.For(tenant.Tenant{ID: "fallen", Tier: "pro"}).Name; got != "pro" {
		t.Errorf("after Unassign the tier is %s, want pro", got)
	}
}

func TestTiers_AssignWantsWhatExists(t *testing.T) {
	tiers := catalogue(t)
	if err := tiers.Assign("a/b", "pro"); !errors.Is(err, tenant.ErrInvalidID) {
		t.Errorf("Assign of an invalid ID = %v, want ErrInvalidID", err)
	}
	for _, name := range []string{"", "gold", "x\ny", strings.Repeat("x", 1000)} {
		err := tiers.Assign("acme", name)
		if want := fmt.Sprintf("tenant: no tier %.140q", name); err == nil || err.Error() != want {
			t.Errorf("Assign to tier %.20q = %v, want %s", name, err, want)
		}
	}
	if a, ok := tiers.Assigned("acme"); ok {
		t.Errorf("a refused Assign left %v", a)
	}
	if err := tiers.Assign(tenant.AnonymousID, "pro"); err != nil {
		t.Errorf("Assign of the anonymous tenant: %v", err)
	}
}

// A limiter lets the later of Assign and SetTier win: no two assignments may be equally late.
func TestTiers_LaterAssignmentIsLaterOnAStoppedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := catalogue(t)
		var before tenant.Assertion
		for _, name := range []string{"pro", "free", "pro"} {
			if err := tiers.Assign("acme", name); err != nil {
				t.Fatal(err)
			}
			a, ok := tiers.Assigned("acme")
			if !ok || a.Tier != name || !a.AsOf.After(before.AsOf) {
				t.Errorf("Assigned = %v, %t after %v, want a later %s", a, ok, before, name)
			}
			before = a
		}
		if drift := time.Until(before.AsOf); drift > time.Microsecond {
			t.Errorf("the assignment is %v ahead of the clock", drift)
		}
	})
}

func TestTiers_Lookups(t *testing.T) {
	tiers := catalogue(t)
	if got, ok := tiers.Lookup("pro"); !ok || got.Rate != 20 {
		t.Errorf("Lookup(pro) = %+v, %t", got, ok)
	}
	if got, ok := tiers.Lookup("gold"); ok || got != (tenant.Tier{}) {
		t.Errorf("Lookup(gold) = %+v, %t, want none", got, ok)
	}
	if got := tiers.Named("pro").Name + " " + tiers.Named("gold").Name + " " + tiers.Named("").Name; got != "pro free free" {
		t.Errorf("Named gives %s, want pro free free", got)
	}
	if err := tiers.Define(tenant.Tier{Name: "gold"}); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, tier := range tiers.All() {
		all = append(all, tier.Name)
	}
	if want := []string{"free", "gold", "pro"}; !slices.Equal(all, want) {
		t.Errorf("All = %v, want %v", all, want)
	}
}

func TestTiers_DefineReplacesAndAdds(t *testing.T) {
	tiers := catalogue(t)
	want := tenant.Tier{
		Name: "free", Rate: 3, Burst: 4, Share: 5, Ceiling: 6, Streams: 7, Quotas: tenant.Quotas{Hour: 8},
	}
	if err := tiers.Define(want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, tiers.For(tenant.Tenant{ID: "acme", Tier: "unknown"})); diff != "" {
		t.Errorf("the replaced default tier (-want +got):\n%s", diff)
	}
	if err := tiers.Define(tenant.Tier{Name: "gold", Rate: 9}); err != nil {
		t.Fatal(err)
	}
	if err := tiers.Assign("acme", "gold"); err != nil {
		t.Errorf("Assign to a defined tier: %v", err)
	}
	if err := tiers.Define(tenant.Tier{Name: "free", Rate: -1}); err == nil || tiers.Named("free").Rate != 3 {
		t.Errorf("Define of a faulty tier = %v and leaves %+v, want an error and rate 3", err, tiers.Named("free"))
	}
}

func TestTiers_EverythingAtOnce(t *testing.T) {
	tiers := catalogue(t)
	var wg sync.WaitGroup
	for worker := range 4 {
		id := fmt.Sprint("tenant", worker)
		wg.Go(func() {
			for i := range 300 {
				stop, err := tiers.Watch(told(func(id string) { tiers.For(tenant.Tenant{ID: id}) }))
				err = errors.Join(err,
					tiers.Assign(id, "pro"),
					tiers.Define(tenant.Tier{Name: "pro", Rate: float64(i)}),
					tiers.Define(tenant.Tier{Name: id, Rate: float64(i)}))
				if got := tiers.For(tenant.Tenant{ID: id}).Name; err != nil || got != "pro" {
					t.Errorf("%s is on %s (%v), want pro", id, got, err)
				}
				tiers.Unassign(id)
				if got := tiers.For(tenant.Tenant{ID: id, Tier: id}); got.Rate != float64(i) {
					t.Errorf("%s is on %+v, want rate %d", id, got, i)
				}
				stop()
			}
		})
	}
	wg.Wait()
	if got := len(tiers.All()); got != 6 {
		t.Errorf("%d tiers, want 6", got)
	}
}
