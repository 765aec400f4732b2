package main

import (
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
)

// reportOf has tenants a, b, c with the given p99 waits in ms, the worst first, and as many refused as is said.
func reportOf(policy string, refused int, waits map[string]int) *replay.Report {
	r := &replay.Report{Policy: policy, All: replay.Group{Wait: replay.Waits{P99: 10 * time.Millisecond}}}
	r.All.Refused[0] = refused
	for _, name := range []string{"a", "b", "c"} {
		g := replay.Group{Name: name, Served: 1, Wait: replay.Waits{P99: time.Duration(waits[name]) * time.Millisecond}}
		if name == "a" {
			g.Refused[0] = refused
		}
		r.Tenants = append(r.Tenants, g)
	}
	return r
}

func TestContest_SaysLossesAndGains(t *testing.T) {
	fair := reportOf("fairslots", 3, map[string]int{"a": 400, "b": 101, "c": 5})
	for _, tt := range []struct {
		name          string
		other         *replay.Report
		losses, gains string
	}{
		{"the same", reportOf("cap", 3, map[string]int{"a": 400, "b": 101, "c": 5}), "", ""},
		{"within what percentiles may be off", reportOf("cap", 3, map[string]int{"a": 396, "b": 102, "c": 5}), "", ""},
		{"tenants wait longer", reportOf("cap", 3, map[string]int{"a": 300, "b": 50, "c": 5}),
			"worst tenant's p99 400ms, not 300ms; p99 higher for 2 tenants, most for a (400ms, not 300ms)", ""},
		{"and one does not", reportOf("cap", 3, map[string]int{"a": 300, "b": 101, "c": 10}),
			"worst tenant's p99 400ms, not 300ms; p99 higher for 1 tenant, most for a (400ms, not 300ms)", "p99 lower for 1 tenant"},
		{"more are refused", reportOf("cap", 1, map[string]int{"a": 400, "b": 101, "c": 5}),
			"3 refused, not 1; more refused of 1 tenant, most of a (3, not 1)", ""},
		{"fewer are", reportOf("cap", 4, map[string]int{"a": 500, "b": 101, "c": 5}), "",
			"worst tenant's p99 400ms, not 500ms; p99 lower for 1 tenant; 3 refused, not 4"},
	} {
		all := contests([]replay.Policy{replay.Cap, replay.FairSlots}, []*replay.Report{tt.other, fair})
		if len(all) != 1 || all[0].losses() != tt.losses || all[0].gains() != tt.gains {
			t.Errorf("%s:\ngot  losses %q, gains %q\nwant losses %q, gains %q",
				tt.name, all[0].losses(), all[0].gains(), tt.losses, tt.gains)
		}
	}
	if all := contests([]replay.Policy{replay.Cap}, []*replay.Report{fair}); all != nil {
		t.Errorf("without fairslots, got %v", all)
	}
}

func TestSpell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 7: "7.0ns", 999: "999ns", 1500: "1.5us", 999_600: "1.0ms", 43_210_000: "43ms", 999_700_000: "1.00s",
		1_234_000_000: "1.23s", 59_960_000_000: "60.0s", 3_600_000_000_000: "3600s", -20_000_000: "-20ms",
	} {
		if got := spell(d); got != want {
			t.Errorf("%d ns: got %q, want %q", d, got, want)
		}
	}
}
