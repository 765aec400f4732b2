package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

// Other programs read the ratios.
func TestCompare_PrintsEveryRatioAfterOneRound(t *testing.T) {
	r := compare(1)
	var out bytes.Buffer
	r.print(&out)
	table := out.String()
	for _, s := range subjects {
		if strings.Count(table, "| "+s.name+" |") != 1 {
			t.Errorf("not one row for %q in\n%s", s.name, table)
		}
	}
	out.Reset()
	r.printRatios(&out)
	got := map[string]float64{}
	for line := range strings.Lines(out.String()) {
		var name string
		var value float64
		if n, _ := fmt.Sscanf(line, "ratio %s %g\n", &name, &value); n == 2 {
			got[name] = value
		}
	}
	for _, name := range []string{
		"remembered_vs_sha256", "hs256_vs_remembered", "rs256_vs_remembered", "es256_vs_remembered", "eddsa_vs_remembered",
		"jwtauth_vs_remembered", "auth0_vs_remembered", "jwtauth_vs_gate", "auth0_vs_gate",
		"unremembered_hs256_vs_golang_jwt",
	} {
		if v, ok := got[name]; !ok || math.IsInf(v, 0) || !(v > 0) {
			t.Errorf("ratio %s is %v, want one above 0, in\n%s", name, v, out.String())
		}
	}
}
