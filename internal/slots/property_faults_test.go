package slots

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Each property is worth what it catches: here each meets faults, and must be the one that names them.
func TestProperties_CatchFaults(t *testing.T) {
	for flagName, value := range map[string]string{
		"rapid.nofailfile": "true", "rapid.shrinktime": "0s", "rapid.seed": "1", "rapid.checks": "500",
	} {
		before := flag.Lookup(flagName).Value.String()
		if err := flag.Set(flagName, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set(flagName, before) })
	}
	all := slices.Concat(idles, ignoresShares, ignoresArrival, miscounts, starves, ignoresExcess, loses, forgets)
	for _, tt := range all {
		t.Run(tt.name, func(t *testing.T) {
			watched := &watcher{T: t}
			done := make(chan struct{})
			go func() { // rapid ends the goroutine of a test that failed
				defer close(done)
				rapid.Check(watched, keepsTheProperties(tt.rule, new(int), tt.fault.of))
			}()
			<-done
			if watched.property == 0 || !slices.Contains(tt.by, watched.property) {
				t.Errorf("caught by property %d (0: by none), want %v: %s", watched.property, tt.by, watched.failure)
			}
		})
	}
}

// propertyFault is a fault, and the properties any of which may be the first to see it.
type propertyFault struct {
	name  string
	by    []int
	rule  Rule
	fault fault
}

// watcher notes failures instead of failing.
type watcher struct {
	*testing.T
	failed   bool
	failure  string
	property int
}

var propertyOf = regexp.MustCompile(`property (\d),`)

func (w *watcher) note(format string, args ...any) {
	w.failed = true
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		if found := propertyOf.FindStringSubmatch(w.failure); found != nil {
			w.property = int(found[1][0] - '0')
		}
	}
}

func (w *watcher) Logf(string, ...any)               {}
func (w *watcher) Errorf(format string, args ...any) { w.note(format, args...) }
func (w *watcher) Fatalf(format string, args ...any) { w.note(format, args...) }
func (w *watcher) FailNow()                          { w.failed = true }
func (w *watcher) Fail()                             { w.failed = true }
func (w *watcher) Failed() bool                      { return w.failed }
