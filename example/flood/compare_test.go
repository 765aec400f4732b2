package main

import (
	"strings"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/flood"
)

// The flood over a real listener, with whatever the race detector costs: the figures are not judged here.
func TestMeasure_EveryRequestIsAnswered(t *testing.T) {
	for _, policy := range flood.Policies {
		t.Run(policy.Name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			report, err := measure(t.Context(), &out, policy)
			if err != nil {
				t.Fatal(err)
			}
			if want := "answered: noisy 500 of 500, quiet 10 of 10\n"; !strings.HasSuffix(out.String(), want) {
				t.Errorf("got progress %q, want it to end in %q", out.String(), want)
			}
			if report.QuietMedian < flood.Hold || report.QuietMax < report.QuietMedian || report.NoisyBatch < time.Second {
				t.Errorf("got %+v: a request holds its slot for %v", report, flood.Hold)
			}
		})
	}
}

func TestPrintTable_FiguresStandInTheirColumns(t *testing.T) {
	var out strings.Builder
	printTable(&out, asPromised())
	want := `
                measured over HTTP      in virtual time  published elsewhere
               median   max  batch  median   max  batch  median   max  batch
shared FIFO      1000  1010   1.03    1010  1010   1.00     982         1.03
hard cap           32    53   1.70      30    50   1.68      30    51   1.70
published rule     57    79   1.08   40-50    70   1.02      57    79   1.08
fairslots          33    54   1.04      30    50   1.02

median and max: the quiet tenant's answers, in ms. batch: all of the noisy tenant's, in s.

`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestVerdict_SaysWhatIsOutOfRange(t *testing.T) {
	var out strings.Builder
	if err := verdict(&out, asPromised()); err != nil {
		t.Errorf("all as promised: got error %v", err)
	}
	want := "fairslots answers the quiet tenant in 33 ms: a hard cap in 32, a shared pool in 1000.\n"
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got %q, want it to begin with %q", out.String(), want)
	}

	rows := asPromised()
	rows[1].measured.QuietMedian = 46 * time.Millisecond
	rows[3].measured.NoisyBatch = 1200 * time.Millisecond
	err := verdict(&out, rows)
	if err == nil {
		t.Fatal("two figures out of range: got no error")
	}
	for _, want := range []string{
		"hard cap: the quiet tenant's median is 46 ms, want 0 to 45",
		"fairslots: the noisy batch took 1.20 s, want 1.00 to 1.15",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error %q, want %q in it", err, want)
		}
	}
}

func TestTargets_AreThereForEveryPolicy(t *testing.T) {
	for _, policy := range flood.Policies {
		if targets[policy.Name] == (target{}) {
			t.Errorf("policy %q has no targets", policy.Name)
		}
	}
	if len(targets) != len(flood.Policies) {
		t.Errorf("%d targets for %d policies", len(targets), len(flood.Policies))
	}
}

// asPromised returns rows that are within all targets.
func asPromised() []row {
	figures := func(policy string, median, max, batch time.Duration) row {
		return row{policy: policy, attempts: 1, measured: flood.Report{
			QuietMedian: median * time.Millisecond, QuietMax: max * time.Millisecond, NoisyBatch: batch * time.Millisecond,
		}}
	}
	return []row{
		figures("shared FIFO", 1000, 1010, 1030),
		figures("hard cap", 32, 53, 1700),
		figures("published rule", 57, 79, 1080),
		figures("fairslots", 33, 54, 1040),
	}
}
