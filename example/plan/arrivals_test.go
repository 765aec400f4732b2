package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// times returns when the requests of a trace come.
func times(t *testing.T, csv string, speed float64, flags ...string) (all []time.Duration) {
	t.Helper()
	opts, err := parseFlags(append(flags, "-"))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := readTrace("trace.csv", strings.NewReader("tenant,offset_s\n"+csv), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.close()
	in, err := trace.arrivals(speed)
	if err != nil {
		t.Fatal(err)
	}
	for {
		request, err := in.request()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, request.At)
	}
}

func TestArrivals(t *testing.T) {
	const ms = time.Millisecond
	seconds := "a,3\na,3\nb,3\na,3\na,5\nb,9\nb,9\n"
	for _, tt := range []struct {
		name, csv string
		speed     float64
		flags     []string
		want      []time.Duration
	}{
		{"the requests of a second are spread over it", seconds, 1, nil,
			[]time.Duration{0, 250 * ms, 500 * ms, 750 * ms, 2000 * ms, 6000 * ms, 6500 * ms}},
		{"a speed makes everything closer, the spread too", seconds, 2, nil,
			[]time.Duration{0, 125 * ms, 250 * ms, 375 * ms, 1000 * ms, 3000 * ms, 3250 * ms}},
		{"unless they shall come at once", seconds, 1, []string{"-spread=false"},
			[]time.Duration{0, 0, 0, 0, 2000 * ms, 6000 * ms, 6000 * ms}},
		{"or one fraction shows that the clock was finer", "a,3\na,3\na,4\na,4\na,4.5\n", 1, nil,
			[]time.Duration{0, 0, 1000 * ms, 1000 * ms, 1500 * ms}},
	} {
		if diff := cmp.Diff(tt.want, times(t, tt.csv, tt.speed, tt.flags...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A load is the work over what the slots can do: it is found again in a replay that turns nobody away.
func TestSpeedFor_GivesTheLoad(t *testing.T) {
	opts, err := parseFlags([]string{
		"-load", "0.25,0.5", "-policies", "shared", "-max-wait", "0", "-max-waiting", "100000", "testdata/web-trace.csv",
	})
	if err != nil {
		t.Fatal(err)
	}
	bar := newProgress(io.Discard)
	trace, err := openTrace(t.Context(), opts, nil, bar)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.close()
	r, err := sweep(t.Context(), opts, trace, bar)
	if err != nil {
		t.Fatal(err)
	}
	for i, of := range r.cases {
		if got, want := of.reports[0].Utilisation(), opts.loads[i]; got < 0.98*want || got > want*1.001 {
			t.Errorf("load %g uses %.4f of the slots", want, got)
		}
	}
}
