package tenant_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

// watcher objects to tiers with a share above most and notes what it is told.
type watcher struct {
	most  int
	asked func(tenant.Tier) // called by CheckTier, where set

	mu   sync.Mutex
	told []string
}

func (w *watcher) CheckTier(t tenant.Tier) error {
	if w.asked != nil {
		w.asked(t)
	}
	if t.Share > w.most {
		return fmt.Errorf("watcher: tier %s: Share is %d, want at most %d", t.Name, t.Share, w.most)
	}
	return nil
}

func (w *watcher) TierChanged(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, id)
}

func TestTiers_WatchersHearOfChanges(t *testing.T) {
	tiers := catalogue(t)
	watch := func(w tenant.Watcher) func() {
		stop, err := tiers.Watch(w)
		if err != nil {
			t.Fatal(err)
		}
		return stop
	}
	w := &watcher{most: 10}
	stop, other := watch(w), watch(&watcher{most: 10})
	defer other()
	twice := watch(w) // the same watcher again is told again

	assign := func(name string) {
		if err := tiers.Assign("acme", name); err != nil {
			t.Fatal(err)
		}
	}
	assign("pro")
	tiers.Unassign("acme")
	twice()
	tiers.Unassign("acme") // changes nothing
	assign("free")
	if err := tiers.Define(tenant.Tier{Name: "gold", Share: 10}); err != nil {
		t.Fatal(err)
	}
	if err := tiers.Define(tenant.Tier{Name: "gold", Share: -1}); err == nil {
		t.Fatal("no error")
	}
	stop()
	stop()
	assign("pro")
	if want := []string{"acme", "acme", "acme", "acme", "acme", ""}; !slices.Equal(w.told, want) {
		t.Errorf("told %q, want %q", w.told, want)
	}
}

func TestTiers_ChangeIsThereWhenItIsTold(t *testing.T) {
	tiers := catalogue(t)
	var seen []float64
	stop, err := tiers.Watch(told(func(id string) {
		seen = append(seen, tiers.For(tenant.Tenant{ID: "acme"}).Rate)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := errors.Join(tiers.Assign("acme", "pro"), tiers.Define(tenant.Tier{Name: "pro", Rate: 30})); err != nil {
		t.Fatal(err)
	}
	tiers.Unassign("acme")
	if want := []float64{20, 30, 2}; !slices.Equal(seen, want) {
		t.Errorf("rates seen when told: %v, want %v", seen, want)
	}
}

type told func(id string)

func (told) CheckTier(tenant.Tier) error { return nil }
func (f told) TierChanged(id string)     { f(id) }

func TestTiers_EachWatcherMayObject(t *testing.T) {
	tiers := catalogue(t)
	for _, most := range []int{7, 100, 8} {
		if _, err := tiers.Watch(&watcher{most: most}); err != nil {
			t.Fatal(err)
		}
	}
	err := tiers.Define(tenant.Tier{Name: "pro", Share: 9})
	if err == nil || !strings.Contains(err.Error(), "at most 7") || !strings.Contains(err.Error(), "at most 8") {
		t.Errorf("Define = %v, want both objections", err)
	}
	if got := tiers.Named("pro").Share; got != 6 {
		t.Errorf("a refused Define left share %d, want 6", got)
	}
	stop, err := tiers.Watch(&watcher{most: 1})
	if stop != nil || err == nil || strings.Count(err.Error(), "at most 1") != 2 {
		t.Errorf("Watch = %v, want an objection to each tier", err)
	}
	if err := tiers.Define(tenant.Tier{Name: "pro", Share: 7}); err != nil {
		t.Errorf("a watcher that objected when it came still has a say: %v", err)
	}
}

// once makes a watcher do something the first time that it is asked.
func once(f func()) func(tenant.Tier) {
	f = sync.OnceFunc(f)
	return func(tenant.Tier) { f() }
}

func TestTiers_WatcherIsAskedAboutATierDefinedMeanwhile(t *testing.T) {
	tiers := catalogue(t)
	w := &watcher{most: 10}
	w.asked = once(func() {
		if err := tiers.Define(tenant.Tier{Name: "huge", Share: 11}); err != nil {
			t.Errorf("Define while nobody watches yet: %v", err)
		}
	})
	if _, err := tiers.Watch(w); err == nil || !strings.Contains(err.Error(), "huge") {
		t.Errorf("Watch = %v, want the objection to tier huge", err)
	}
}

func TestTiers_DefineAsksAWatcherThatCameMeanwhile(t *testing.T) {
	tiers := catalogue(t)
	first := &watcher{most: 100}
	if _, err := tiers.Watch(first); err != nil {
		t.Fatal(err)
	}
	first.asked = once(func() {
		if _, err := tiers.Watch(&watcher{most: 10}); err != nil {
			t.Errorf("Watch before the tier is there: %v", err)
		}
	})
	if err := tiers.Define(tenant.Tier{Name: "huge", Share: 11}); err == nil {
		t.Error("Define = nil, want the objection of the watcher that came last")
	}
	if _, ok := tiers.Lookup("huge"); ok {
		t.Error("a tier that a watcher refused is in its catalogue")
	}
}

// Whatever the interleaving, a watcher that objects to a tier never watches a catalogue that has it.
func TestTiers_DefineAgainstWatch(t *testing.T) {
	for range 2000 {
		tiers := catalogue(t)
		var wg sync.WaitGroup
		var defined, watched [2]error
		for i := range 2 {
			wg.Go(func() { defined[i] = tiers.Define(tenant.Tier{Name: fmt.Sprint("huge", i), Share: 11}) })
			wg.Go(func() { _, watched[i] = tiers.Watch(&watcher{most: 10 + i}) }) // the second has nothing to object
		}
		wg.Wait()
		if watched[1] != nil {
			t.Fatalf("a watcher without objection was refused: %v", watched[1])
		}
		for i, err := range defined {
			if _, ok := tiers.Lookup(fmt.Sprint("huge", i)); ok != (err == nil) || ok && watched[0] == nil {
				t.Fatalf("Define %v, Watch %v, tier in the catalogue: %t", err, watched[0], ok)
			}
		}
	}
}
