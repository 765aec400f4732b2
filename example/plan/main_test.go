package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file anew")

// outcomeOf is what a run of the program left.
type outcomeOf struct {
	code           int
	stdout, stderr string
}

func runPlan(t *testing.T, stdin string, args ...string) outcomeOf {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return outcomeOf{code, stdout.String(), stderr.String()}
}

var tinyFlags = []string{
	"-capacity", "2", "-top", "3", "-load", "0.5,0.9,2", "-max-wait", "300ms", "-cost", "export=5",
	"-tiers", "even: free share=1; pro share=1", "-tiers", "bold: free share=1 rate=20 burst=4; pro share=2",
	"testdata/tiny.csv",
}

func TestPlan_Golden(t *testing.T) {
	const golden = "testdata/tiny.txt"
	got := runPlan(t, "", tinyFlags...)
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %q", got.code, got.stderr)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.stdout), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.stdout); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.Lines(got.stdout) {
		if len(line) > 121 {
			t.Errorf("a line of %d bytes: %s", len(line)-1, line)
		}
	}
}

func TestPlan_SameTraceSameBytes(t *testing.T) {
	var texts, pages []string
	for range 3 {
		page := filepath.Join(t.TempDir(), "plan.html")
		got := runPlan(t, "", "-load", "0.6,1.1", "-html", page, "testdata/web-trace.csv")
		html, err := os.ReadFile(page)
		if got.code != 0 || err != nil {
			t.Fatal(got, err)
		}
		texts, pages = append(texts, got.stdout), append(pages, string(html))
	}
	for i := 1; i < len(texts); i++ {
		if texts[i] != texts[0] || pages[i] != pages[0] {
			t.Fatalf("run %d differs from the first: %s", i+1, cmp.Diff(texts[0]+pages[0], texts[i]+pages[i]))
		}
	}
}

func TestPlan_StandardInputIsAFileToo(t *testing.T) {
	trace, err := os.ReadFile("testdata/tiny.csv")
	if err != nil {
		t.Fatal(err)
	}
	fromFile := runPlan(t, "", tinyFlags...)
	piped := runPlan(t, string(trace), append(tinyFlags[:len(tinyFlags)-1:len(tinyFlags)-1], "-")...)
	if want := strings.ReplaceAll(fromFile.stdout, "testdata/tiny.csv:", "stdin:"); piped.stdout != want {
		t.Error(cmp.Diff(want, piped.stdout))
	}
}

// A trace that is faulty in its last row alone leaves nothing, not even where there was a page before.
func TestPlan_FaultyTraceReportsNothing(t *testing.T) {
	trace := "offset_s,tenant\n" + strings.Repeat("0,acme\n", 5000) + "0,acme,\n"
	for _, before := range []string{"", "an older page"} {
		folder := t.TempDir()
		page := filepath.Join(folder, "plan.html")
		if before != "" {
			if err := os.WriteFile(page, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := runPlan(t, trace, "-html", page, "-")
		want := outcomeOf{code: 1, stderr: "plan: stdin:5002: 3 fields, want 2 as in the header\n"}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if after, _ := os.ReadFile(page); string(after) != before {
			t.Errorf("the page was %q and is now %q", before, after)
		}
		wantFiles(t, folder, before != "")
	}
}

func TestPlan_PageThatCannotBeWrittenReportsNothing(t *testing.T) {
	folder := t.TempDir()
	for _, page := range []string{filepath.Join(folder, "missing", "plan.html"), folder} {
		got := runPlan(t, "", "-html", page, "testdata/tiny.csv", "-tiers", "free share=1; pro share=1")
		if got.code != 1 || got.stdout != "" {
			t.Errorf("%s: got %+v, want exit code 1 and no text", page, got)
		}
	}
	wantFiles(t, folder, false)
}

// wantFiles wants nothing in the folder but perhaps one page: no temporary files.
// A page takes the place of a page, of nothing that it may have been pointed at by mistake.
func TestPlan_PageReplacesNoOtherFile(t *testing.T) {
	folder := t.TempDir()
	trace := filepath.Join(folder, "trace.csv")
	rows := []byte("offset_s,tenant\n0,a\n")
	if err := os.WriteFile(trace, rows, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link.html")
	if err := os.Symlink(trace, link); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{trace, link, os.DevNull} {
		if got := runPlan(t, "", "-html", page, trace); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "-html: ") {
			t.Errorf("-html %s: exit code %d, %q, %q, want 1 and what is wrong with the page", page, got.code, got.stdout, got.stderr)
		}
		if now, err := os.ReadFile(trace); err != nil || !bytes.Equal(now, rows) {
			t.Fatalf("-html %s: the trace is now %q (%v)", page, now, err)
		}
	}
	page := filepath.Join(folder, "page.html")
	if err := os.WriteFile(page, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(folder, "to.html")
	if err := os.Symlink(page, to); err != nil {
		t.Fatal(err)
	}
	if got := runPlan(t, "", "-html", to, trace); got.code != 0 {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	if target, err := os.Readlink(to); err != nil || target != page {
		t.Errorf("the link to the page names %q (%v)", target, err)
	}
	if now, err := os.ReadFile(page); err != nil || !bytes.Contains(now, []byte("<html")) {
		t.Errorf("what the link names is no page: %v", err)
	}
}

func wantFiles(t *testing.T, folder string, page bool) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if page && len(files) == 1 && files[0].Name() == "plan.html" || !page && len(files) == 0 {
		return
	}
	t.Errorf("the folder has %v, want the page: %v", files, page)
}

func TestPlan_LeavesNoSpool(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder)
	for _, trace := range []string{"offset_s,tenant\n0,acme\n", "offset_s,tenant\n0,acme\n0,\n", ""} {
		runPlan(t, trace, "-")
		wantFiles(t, folder, false)
	}
}

// Ctrl-C stops the program even while it waits for a pipe that nobody writes to.
func TestPlan_InterruptedWhileReading(t *testing.T) {
	stdin, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		io.WriteString(writer, "offset_s,tenant\n0,acme\n")
		cancel()
	}()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"-"}, stdin, &stdout, &stderr)
	if code != 1 || stdout.Len() > 0 || stderr.String() != "plan: interrupted\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}

// webSweep is a sweep over the web trace that can be made to fail.
func webSweep(t *testing.T) (*options, *trace, *progress) {
	t.Helper()
	opts, err := parseFlags([]string{"testdata/web-trace.csv"})
	if err != nil {
		t.Fatal(err)
	}
	bar := newProgress(io.Discard)
	trace, err := openTrace(t.Context(), opts, nil, bar)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trace.close)
	return opts, trace, bar
}

func TestPlan_InterruptedWhileReplaying(t *testing.T) {
	opts, trace, bar := webSweep(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := sweep(ctx, opts, trace, bar); err == nil || bar.done > 0 {
		t.Errorf("got %+v after an interrupt, %d requests replayed", r, bar.done)
	}
}

// What the engine refuses ends the replay for all policies, and nobody waits for one that has given up.
func TestPlan_EngineErrorEndsTheReplay(t *testing.T) {
	opts, trace, bar := webSweep(t)
	before := outcome{table: &opts.tables[0], speed: 1e-7} // lasts for longer than the engine takes
	reports, err := compare(t.Context(), opts, trace, &before, bar)
	if err == nil || !strings.Contains(err.Error(), "replay: At is") {
		t.Errorf("got %v, %v, want the engine's error", reports, err)
	}
}
