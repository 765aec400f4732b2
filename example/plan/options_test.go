package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/internal/replay"
	"github.com/tenantgate/tenantgate/quota"
)

func TestFlags_Mistakes(t *testing.T) {
	for _, tt := range []struct{ flags, want string }{
		{"", "0 traces are given, want one file, or - for standard input"},
		{"a.csv b.csv", "2 traces are given, want one file, or - for standard input"},
		{"-burts 3 a.csv", "flag provided but not defined: -burts"},
		{"-capacity 0 a.csv", "replay: Capacity is 0, want 1 to"},
		{"-share 0 a.csv", "tier all: Share is 0, want at least 1"},
		{"-share 5 -ceiling 3 a.csv", `tier "all": Ceiling is 3, want 0 or at least the Share of 5`},
		{"-rate fast a.csv", `invalid value "fast" for flag -rate: want a number`},
		{"-rate -1 a.csv", `tier "all": Rate is -1`},
		{"-burst 5 a.csv", `tier "all": a burst without a rate`},
		{"-tiers free_share=2 -share 3 a.csv", "-share is for a single tier: say it in -tiers, share="},
		{"-tiers  a.csv", "0 traces"},
		{"-tiers even: a.csv", "for flag -tiers: no tiers"},
		{"-tiers :free_share=1 a.csv", "for flag -tiers: no name before the colon"},
		{"-tiers free_shares=1 a.csv", `tier "free": "shares=1", want share=, ceiling=, rate= or burst= and a number`},
		{"-tiers free_share=two a.csv", `tier "free": share is "two", want a number`},
		{"-tiers free_share=1_share=2 a.csv", `tier "free": share is there twice`},
		{"-tiers free_share=1;free_share=2 a.csv", "free"},
		{"-tiers free_rate=1 a.csv", "tier free: Share is 0, want at least 1"},
		{"-tiers x:a_share=1 -tiers x:a_share=2 a.csv", `-tiers: two tables are called "x"`},
		{"-policies fifo a.csv", `no policy "fifo", want one of shared, cap, published, fairslots`},
		{"-policies cap,cap a.csv", "cap is there twice"},
		{"-duration -1s a.csv", "-duration is -1s, want 0 to"},
		{"-durations page a.csv", `"page", want a name, = and a value`},
		{"-durations page=80 a.csv", `"page=80", want a name, = and a value`},
		{"-durations page=-1s a.csv", `"page=-1s" is negative`},
		{"-durations page=1s,page=2s a.csv", `"page" is there twice`},
		{"-durations page=9999h a.csv", "-durations page is 9999h0m0s, want at most"},
		{"-cost export=x a.csv", `"export=x", want a name, = and a value`},
		{"-speed 0 a.csv", "-speed is 0, want more than 0"},
		{"-speed NaN a.csv", "-speed is NaN, want more than 0"},
		{"-speed 2 -load 0.5 a.csv", "-speed and -load: want one of them"},
		{"-load 0.5,0 a.csv", `"0", want numbers above 0 and up to 1000`},
		{"-load NaN a.csv", `"NaN", want numbers above 0 and up to 1000`},
		{"-load 0.5,.5 a.csv", "0.5 is there twice"},
		{"-load 0.5 -show 0.6 a.csv", "-show is 0.6, want one of the loads [0.5]"},
		{"-show 0.6 a.csv", "-show is 0.6, want one of the loads []"},
		{"-top 0 a.csv", "-top is 0, want at least 1"},
		{"-max-queue -1 a.csv", "-max-queue is -1, want at least 0"},
		{"-max-wait -1s a.csv", "-max-wait is -1s, want at least 0s"},
	} {
		args := strings.Fields(tt.flags)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		got := runPlan(t, "", args...)
		if got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s\ngot  %d %q\nwant 2 %q", tt.flags, got.code, got.stderr, tt.want)
		}
	}
}

func TestFlags_MayStandAfterTheTrace(t *testing.T) {
	o, err := parseFlags([]string{
		"-durations", "page=80ms,asset=5ms", "a.csv", "-load", "1.2, 0.3", "-policies", "fairslots,shared", "-cost", "export=5",
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{o.trace, o.loads, o.policies, o.costs, o.durations.of("page"), o.durations.of("else")}, []any{
		"a.csv", []float64{0.3, 1.2}, []replay.Policy{replay.Shared, replay.FairSlots}, quota.Costs{"export": 5},
		80 * time.Millisecond, 20 * time.Millisecond,
	}); diff != "" {
		t.Error(diff)
	}
}

func TestFlags_Tiers(t *testing.T) {
	for text, want := range map[string]string{
		"free share=2": "|free share=2",
		"bold: free share=2 rate=2.5; pro ceiling=8 share=6 ;": "bold|free share=2 rate=2.5 burst=3; pro share=6 ceiling=8",
		"x: free share=1 rate=0 burst=4":                       "x|free share=1 rate=0 burst=4",
	} {
		table, err := parseTiers(text)
		if got := table.name + "|" + table.text; err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestFlags_BoundsOfZeroAreMeant(t *testing.T) {
	o, err := parseFlags([]string{"-max-queue", "0", "-max-waiting", "0", "-max-wait", "0", "a.csv"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg := o.config(&o.tables[0], replay.FairSlots); cfg.MaxQueue != -1 || cfg.MaxWaiting != -1 || cfg.MaxWait != -1 {
		t.Errorf("got %+v, want nobody to wait, for however long", cfg)
	}
}

func TestHelp_HasAnExampleAndEveryFlag(t *testing.T) {
	got := runPlan(t, "", "-h")
	if got.code != 0 || got.stderr != "" {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
	for _, want := range []string{
		"offset_s,tenant,tier,operation,duration_ms", "-tiers \"bold:", "-max-wait duration", "-html file",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
}
