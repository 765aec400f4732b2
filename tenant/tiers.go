package tenant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Tiers is the catalogue of plans, and which tenants were assigned one by hand. Limiters, pools and the gate share one
// (or use one each); a change takes effect in all of them before the method that made it returns.
//
// All methods may be called concurrently. The zero Tiers is not usable: see [NewTiers].
type Tiers struct {
	plans atomic.Pointer[plans] // replaced, never changed

	mu sync.RWMutex
	// assigned is each tenant's assignment; assignments is its length, to skip the lock where there are none.
	assigned    map[string]Assertion
	assignments atomic.Int64
	watchers    map[*watch]struct{}
	watched     uint64    // how many watchers were ever added
	stamped     time.Time // by Stamp, last
}

type plans struct {
	byName   map[string]Tier
	fallback string
}

// sorted returns the tiers, ordered by name.
func (p *plans) sorted() []Tier {
	return slices.SortedFunc(maps.Values(p.byName), func(a, b Tier) int { return strings.Compare(a.Name, b.Name) })
}

// watch is one call of Watch: its address tells the calls with an equal Watcher apart.
type watch struct{ Watcher }

// Watcher is told of changes in a catalogue. The limiters and pools that use one watch it. A Watcher is called without
// any lock of the catalogue held, from any goroutine, and may call the catalogue's methods that change nothing. What it
// remembers of the catalogue it must read under the lock under which its TierChanged forgets it, or the old tier may
// be remembered after the change was told.
type Watcher interface {
	// CheckTier returns an error where t does not suit the watcher. The catalogue then keeps what it had.
	CheckTier(t Tier) error
	// TierChanged says that the tier of tenant id may have changed; empty: that of any tenant.
	TierChanged(id string)
}

// NewTiers returns a catalogue of tiers. fallback names the tier of a tenant whose plan is unset or unknown; it must
// be one of tiers. The error names every fault of every tier.
func NewTiers(fallback string, tiers ...Tier) (*Tiers, error) {
	var errs []error
	byName := make(map[string]Tier, len(tiers))
	for _, t := range tiers {
		errs = append(errs, t.check())
		if _, ok := byName[t.Name]; ok {
			errs = append(errs, fmt.Errorf("tenant: tier %.140q: Name is given twice", t.Name))
		}
		byName[t.Name] = t
	}
	if _, ok := byName[fallback]; !ok {
		errs = append(errs, fmt.Errorf("tenant: the default tier %.140q is none of the tiers", fallback))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	ts := &Tiers{assigned: map[string]Assertion{}, watchers: map[*watch]struct{}{}}
	ts.plans.Store(&plans{byName: byName, fallback: fallback})
	return ts, nil
}

// For returns the tier that applies to t: its assignment, else t.Tier, else the default. It knows of no earlier
// assertion than t's own; limiters and pools do.
func (ts *Tiers) For(t Tenant) Tier {
	if a, ok := ts.Assigned(t.ID); ok {
		return ts.Named(a.Tier)
	}
	return ts.Named(t.Tier)
}

// Lookup returns the tier called name, and whether there is one.
func (ts *Tiers) Lookup(name string) (Tier, bool) {
	t, ok := ts.plans.Load().byName[name]
	return t, ok
}

// Named returns the tier called name, and the default tier where there is none.
func (ts *Tiers) Named(name string) Tier {
	p := ts.plans.Load()
	if t, ok := p.byName[name]; ok {
		return t
	}
	return p.byName[p.fallback]
}

// All returns the tiers, ordered by name.
func (ts *Tiers) All() []Tier { return ts.plans.Load().sorted() }

// Assigned returns the tier that tenant id is assigned and since when, and whether it is assigned one.
func (ts *Tiers) Assigned(id string) (Assertion, bool) {
	if ts.assignments.Load() == 0 {
		return Assertion{}, false
	}
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	a, ok := ts.assigned[id]
	return a, ok
}

// Stamp returns the time, a little later than any that it returned before where the clock stands still or steps back: so
// of two assignments the later can be told, whoever keeps them.
func (ts *Tiers) Stamp() time.Time {
	now := time.Now()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !now.After(ts.stamped) {
		now = ts.stamped.Add(1)
	}
	ts.stamped = now
	return now
}

// Assign puts tenant id on the tier called name, whatever its credential says, in this process and until
// [Tiers.Unassign]. An invalid ID or an unknown name is an error.
func (ts *Tiers) Assign(id, name string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if _, ok := ts.Lookup(name); !ok {
		return fmt.Errorf("tenant: no tier %.140q", name)
	}
	asOf := ts.Stamp()
	ts.mu.Lock()
	if ts.assigned[id].AsOf.Before(asOf) { // else a later one overtook this one
		ts.assigned[id] = Assertion{Tier: name, AsOf: asOf}
	}
	ts.assignments.Store(int64(len(ts.assigned)))
	ts.mu.Unlock()
	ts.tell(id)
	return nil
}

// Unassign takes back [Tiers.Assign]. It does nothing to a tenant that is assigned no tier.
func (ts *Tiers) Unassign(id string) {
	ts.mu.Lock()
	_, ok := ts.assigned[id]
	delete(ts.assigned, id)
	ts.assignments.Store(int64(len(ts.assigned)))
	ts.mu.Unlock()
	if ok {
		ts.tell(id)
	}
}

// Define adds t to the catalogue, or replaces the tier of the same name. It first asks the limiters and pools that use
// the catalogue; where t is at fault or does not suit one of them, it changes nothing and the error says why.
func (ts *Tiers) Define(t Tier) error {
	if err := t.check(); err != nil {
		return err
	}
	for {
		watches, seen := ts.watching()
		var errs []error
		for _, w := range watches {
			errs = append(errs, w.CheckTier(t))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if ts.define(t, seen) {
			break
		}
	}
	ts.tell("")
	return nil
}

// define puts t into the catalogue, unless a watcher was added since seen: then that one has not been asked.
func (ts *Tiers) define(t Tier, seen uint64) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.watched != seen {
		return false
	}
	old := ts.plans.Load()
	next := &plans{byName: maps.Clone(old.byName), fallback: old.fallback}
	next.byName[t.Name] = t
	ts.plans.Store(next)
	return true
}

// Watch makes w hear of changes until stop is called. It asks w about each tier first and returns what w objects to.
// stop may be called twice; a change that is being told while stop runs may reach w after stop has returned.
func (ts *Tiers) Watch(w Watcher) (stop func(), err error) {
	entry := &watch{w}
	for {
		p := ts.plans.Load()
		var errs []error
		for _, t := range p.sorted() {
			errs = append(errs, w.CheckTier(t))
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		if ts.watch(entry, p) {
			break
		}
	}
	return func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		delete(ts.watchers, entry)
	}, nil
}

// watch adds w, unless a tier was defined since p: then w has not been asked about it.
func (ts *Tiers) watch(w *watch, p *plans) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.plans.Load() != p {
		return false
	}
	ts.watchers[w] = struct{}{}
	ts.watched++
	return true
}

func (ts *Tiers) watching() (watches []*watch, seen uint64) {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return slices.Collect(maps.Keys(ts.watchers)), ts.watched
}

func (ts *Tiers) tell(id string) {
	watches, _ := ts.watching()
	for _, w := range watches {
		w.TierChanged(id)
	}
}
