package slots

import (
	"flag"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// properties are what holds of a pool at any moment.
var properties = [...]string{
	1: "no slot idles while a request that may run waits",
	2: "below the share goes before at or above it",
	3: "first come, first served within a tenant, and past the lanes of the hard rule",
	4: "in use is the sum over the tenants, within capacity and limits",
	5: "nobody below its share starves",
	6: "slot time divides as the shares do",
	7: "whatever ends leaves nothing in use and loses no waiter",
	8: "an idle tenant is forgotten, and gains no more than the credit",
}

// violation is a property that does not hold.
type violation struct {
	property int
	text     string
}

func (v *violation) Error() string {
	return fmt.Sprintf("property %d, %s: %s", v.property, properties[v.property], v.text)
}

func violated(property int, format string, args ...any) error {
	return &violation{property, fmt.Sprintf(format, args...)}
}

var steps = flag.Int("steps", 0, "make at least so many random steps with each rule")

// manySteps checks something of random steps with each rule, until enough were made.
func manySteps(t *testing.T, property func(rule Rule, made *int) func(*rapid.T)) {
	for name, rule := range map[string]Rule{"fair": Fair, "hard": Hard} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := 0
			for first := true; first || made < *steps; first = false {
				rapid.Check(t, property(rule, &made))
			}
			t.Logf("%s: %d random steps", t.Name(), made)
		})
	}
}

// The properties do not depend on the model: they hold of the core, and would of another that decides otherwise.
func TestCore_KeepsTheProperties(t *testing.T) {
	manySteps(t, func(rule Rule, made *int) func(*rapid.T) { return keepsTheProperties(rule, made, theCore) })
}

func FuzzCore_KeepsTheProperties(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		keepsTheProperties(rapid.SampledFrom([]Rule{Fair, Hard}).Draw(t, "rule"), new(int), theCore)(t)
	}))
}

func theCore(c *Core) subject { return c }

// keepsTheProperties checks the properties of random steps, whose number it adds to made, of what subject makes of a core.
func keepsTheProperties(rule Rule, made *int, of func(*Core) subject) func(*rapid.T) {
	return func(t *rapid.T) {
		cfg := drawConfig(t, rule)
		c := New(cfg)
		o := newObserver(c, cfg)
		defer func() { *made += o.steps }()
		newMachine(t, of(c), cfg.Tiers, o).run(t)
	}
}
