package main

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTrace_Faults(t *testing.T) {
	const head = "offset_s,tenant,tier,operation,duration_ms\n"
	long := strings.Repeat("x", 200)
	for _, tt := range []struct{ name, trace, want string }{
		{"empty", "", "1: empty, want a header with the columns offset_s and tenant"},
		{"BOM only", "\ufeff", "1: empty, want a header with the columns offset_s and tenant"},
		{"header only", head, "2: no requests"},
		{"no offset", "tenant\nacme\n", "1: no column offset_s in the header"},
		{"no tenant", "offset_s,Tenant\n0,acme\n", "1: no column tenant in the header"},
		{"no header", "0,acme\n", "1: no column offset_s in the header"},
		{"column twice", "offset_s,tenant,tier,tier\n0,acme,free,free\n", "1: the column tier is there twice"},
		{"too few fields", head + "0,acme,free,page,5\n0,acme,free\n", "3: 3 fields, want 5 as in the header"},
		{"too many fields", head + "0,acme,free,page,5,6\n", "2: 6 fields, want 5 as in the header"},
		{"offset missing", head + ",acme,,,\n", `2: offset_s is "", want a number`},
		{"offset a word", head + "soon,acme,,,\n", `2: offset_s is "soon", want a number`},
		{"offset long", head + long + ",acme,,,\n", `2: offset_s is "` + long[:40] + `", want a number`},
		{"offset negative", head + "-1,acme,,,\n", `2: offset_s is "-1", want 0 or more`},
		{"offset NaN", head + "NaN,acme,,,\n", `2: offset_s is "NaN", want a number`},
		{"offset infinite", head + "+Inf,acme,,,\n", `2: offset_s is "+Inf", want at most 1000000000`},
		{"offset infinite, negative", head + "-inf,acme,,,\n", `2: offset_s is "-inf", want 0 or more`},
		{"offset beyond floats", head + "1e999,acme,,,\n", `2: offset_s is "1e999", want at most 1000000000`},
		{"offset is a Unix time", head + "1764547200,acme,,,\n", `2: offset_s is "1764547200", want at most 1000000000`},
		{"offset goes back", head + "5,acme,,,\n4.5,acme,,,\n", "3: offset_s goes back from 5 to 4.5: sort the trace by it"},
		{"duration a word", head + "0,acme,,,fast\n", `2: duration_ms is "fast", want a number`},
		{"duration negative", head + "0,acme,,,-0.5\n", `2: duration_ms is "-0.5", want 0 or more`},
		{"duration NaN", head + "0,acme,,,nan\n", `2: duration_ms is "nan", want a number`},
		{"duration too large", head + "0,acme,,,1000000001\n", `2: duration_ms is "1000000001", want at most 1000000000`},
		{"tenant missing", head + "0,,,,\n", `2: invalid tenant ID ""`},
		{"tenant with a terminal's codes", head + "0,\x1b[2Jacme,,,\n", `2: invalid tenant ID "\x1b[2Jacme"`},
		{"tenant too long", head + "0," + long + ",,,\n", `2: invalid tenant ID "` + long[:40] + `"`},
		{"tenant reserved", head + "0,_other,,,\n", `2: invalid tenant ID "_other"`},
		{"tier unknown", head + "0,acme,free,,\n0,acme,\x07gold,,\n", `3: unknown tier "\agold": -tiers must describe it in "even"`},
		{"quote open", head + "0,\"acme,,,\n", `2: byte 12: a quote (") that is not closed, or text after it`},
		{"text after a quote", head + "0,\"ac\"me,,,\n", `2: byte 6: a quote (") that is not closed, or text after it`},
		{"quote inside", head + "0,ac\"me,,,\n", `2: byte 5: bare " in non-quoted-field`},
		{"line too long", head + "0,acme,,,\n0,acme,," + strings.Repeat("x", 2*maxRecord) + ",\n",
			"3: a line of more than 1048576 bytes, or a quote that is not closed"},
		{"line of a quote without an end", head + "0,acme,,\"" + strings.Repeat("x\n", 2*maxRecord),
			"2: a line of more than 1048576 bytes, or a quote that is not closed"},
		{"faults are found after lines of several lines", head + "0,acme,,\"a\nb\",\n\n0,,,,\n", `5: invalid tenant ID ""`},
		{"work adds up", head + strings.Repeat("0,acme,,,1e9\n", 1001),
			"1002: the durations up to here are more than 277777h46m40s together"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runPlan(t, tt.trace, "-tiers", "even: free share=1", "-")
			if want := (outcomeOf{code: 1, stderr: "plan: stdin:" + tt.want + "\n"}); got != want {
				t.Error(cmp.Diff(want.stderr, got.stderr), got.code, got.stdout)
			}
		})
	}
}

func TestTrace_WhatIsNoFault(t *testing.T) {
	want := []record{
		{at: 0, tenant: "acme", duration: 20 * time.Millisecond, operation: "page"},
		{at: 1500 * time.Millisecond, tenant: "_anonymous", duration: -1},
	}
	for name, trace := range map[string]string{
		"plain":         "offset_s,tenant,operation,duration_ms\n0,acme,page,20\n1.5,_anonymous,,\n",
		"BOM and CRLF":  "\ufeffoffset_s,tenant,operation,duration_ms\r\n0,acme,page,20\r\n1.5,_anonymous,,\r\n",
		"another order": "bytes,duration_ms,tenant,offset_s,operation\n17,20,acme,0,page\n,,_anonymous,15e-1,\n",
		"quoted":        "\"offset_s\",\"tenant\",operation,duration_ms\n\"0\",\"acme\",\"page\",\"20\"\n1.5,_anonymous,,",
		"blanks":        " offset_s, tenant, operation, duration_ms\n\n0,acme,page,20\n\n1.5,_anonymous,,\n\n",
		"unread twice":  "offset_s,tenant,operation,duration_ms,note,note\n0,acme,page,20,a,b\n1.5,_anonymous,,,,\n",
	} {
		got, err := readRecords(trace)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func readRecords(trace string) (all []record, err error) {
	in, err := newCSVReader("trace.csv", strings.NewReader(trace))
	for err == nil {
		var rec record
		if rec, err = in.next(); err == nil {
			rec.tenant, rec.tier, rec.operation = strings.Clone(rec.tenant), strings.Clone(rec.tier), strings.Clone(rec.operation)
			all = append(all, rec)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

// FuzzTrace wants of any bytes either a fault with its line, or rows that the engine takes.
func FuzzTrace(f *testing.F) {
	tiny, err := os.ReadFile("testdata/tiny.csv")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(tiny), "", "\ufeff", "offset_s,tenant\r\n0,acme\r\n", "tenant,offset_s\n\"a\n\",1",
		"offset_s,tenant,duration_ms\n1e9,a,1e9\n1e9,a,\n",
		"offset_s,tenant\n0x1p-2,a\n1_0,a\n", "offset_s,tenant,tier\n0,a,free\n3,b,pro\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, trace []byte) {
		opts, err := parseFlags([]string{"-tiers", "free share=1; pro share=2 rate=5", "-load", "0.5", "-capacity", "2", "-"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := readTrace("trace.csv", strings.NewReader(string(trace)), opts)
		if err != nil {
			control := func(r rune) bool { return r < ' ' }
			if !strings.HasPrefix(err.Error(), "trace.csv:") || strings.ContainsFunc(err.Error(), control) {
				t.Errorf("error without its line, or one that echoes control characters: %q", err)
			}
			return
		}
		defer got.close()
		checkArrivals(t, got)
	})
}

// checkArrivals wants as many requests as rows, none before the one before, all within the span.
func checkArrivals(t *testing.T, trace *trace) {
	t.Helper()
	in, err := trace.arrivals(1)
	if err != nil {
		t.Fatal(err)
	}
	var last time.Duration
	n := 0
	for {
		request, err := in.request()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if request.At < last || request.At > trace.end || request.Duration < 0 {
			t.Fatalf("request %d comes at %v for %v, after one at %v, in a trace that ends at %v",
				n, request.At, request.Duration, last, trace.end)
		}
		last = request.At
		n++
	}
	if n != trace.requests || math.Abs(float64(last-trace.end)) > 1e3 {
		t.Fatalf("%d requests until %v, want %d until %v", n, last, trace.requests, trace.end)
	}
}
