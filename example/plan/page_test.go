package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pageOf returns the page of a run over a trace of the given name.
func pageOf(t *testing.T, name, trace string, flags ...string) string {
	t.Helper()
	folder := t.TempDir()
	csv, html := filepath.Join(folder, name), filepath.Join(folder, "plan.html")
	if err := os.WriteFile(csv, []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runPlan(t, "", append(flags, "-html", html, csv)...); got.code != 0 {
		t.Fatal(got)
	}
	page, err := os.ReadFile(html)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func webTrace(t *testing.T) string {
	t.Helper()
	trace, err := os.ReadFile("testdata/web-trace.csv")
	if err != nil {
		t.Fatal(err)
	}
	return string(trace)
}

func TestPage_EscapesNames(t *testing.T) {
	const evil = `<script>alert(1)<\script>"'&`
	page := pageOf(t, strings.ReplaceAll(evil, `\`, "_"), webTrace(t), "-tiers", evil+": free share=1")
	for _, bad := range []string{"<script", "alert(1)<"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if want := "&lt;script&gt;alert(1)"; strings.Count(page, want) < 3 {
		t.Errorf("the page does not show the names as %q", want)
	}
}

func TestPage_LoadsNothing(t *testing.T) {
	page := pageOf(t, "trace.csv", webTrace(t), "-load", "0.5,1.1")
	for _, bad := range []string{"http:", "https:", "//", "url(", "src=", "href=", "@import", "<script"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

func TestPage_PlotsAreWellFormedAndWithinTheirFrames(t *testing.T) {
	page := pageOf(t, "trace.csv", webTrace(t),
		"-load", "0.3,0.6,0.95,1.2", "-tiers", "two: free share=2", "-tiers", "five: free share=5")
	plots := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
	if want := 2 * (3 + 2*4); len(plots) != want {
		t.Errorf("%d plots, want %d: 3 over the loads, 2 for each policy, for both tables", len(plots), want)
	}
	for _, svg := range plots {
		title := regexp.MustCompile(`aria-label="[^"]*`).FindString(svg)
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s: no number", title)
		}
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", title, err)
			}
			if element, ok := token.(xml.StartElement); ok && element.Name.Local == "path" {
				checkPath(t, title, element)
			}
		}
	}
}

// checkPath wants absolute coordinates within the view box.
func checkPath(t *testing.T, title string, path xml.StartElement) {
	t.Helper()
	for _, attr := range path.Attr {
		if attr.Name.Local != "d" {
			continue
		}
		for _, m := range regexp.MustCompile(`([MLHV])(-?[0-9.]+)(?: (-?[0-9.]+))?`).FindAllStringSubmatch(attr.Value, -1) {
			a, _ := strconv.ParseFloat(m[2], 64)
			b, _ := strconv.ParseFloat(m[3], 64)
			x, y := a, b
			switch m[1] {
			case "H":
				y = 0
			case "V":
				x, y = 0, a
			}
			if x < 0 || x > plotWidth || y < 0 || y > plotHeight {
				t.Fatalf("%s: %s leaves the plot", title, m[0])
			}
		}
	}
}

func TestPage_HasNoEmptyPlots(t *testing.T) {
	page := pageOf(t, "trace.csv", "offset_s,tenant\n0.5,acme\n3,globex\n", "-load", "0.001,0.002")
	if n := strings.Count(page, "<svg"); n != 4 || !strings.Contains(page, "Nobody waited.") {
		t.Errorf("%d plots, want 4 of slots in use, and none of waits or refusals", n)
	}
	if page := pageOf(t, "trace.csv", "offset_s,tenant\n0,acme\n", "-duration", "0"); strings.Contains(page, "<svg") {
		t.Errorf("plots of nothing")
	}
}

func TestLabels_DoNotOverlap(t *testing.T) {
	for _, ys := range [][]float64{{100, 100, 100, 100}, {270, 268, 266, 40}, {0, 0, 500, 500}, {150, 160, 170, 300}} {
		var labels []label
		for _, y := range ys {
			labels = append(labels, label{Y: y})
		}
		apart(labels, 20, 270)
		for i, l := range labels {
			if l.Y < 20 || l.Y > 270 || i > 0 && l.Y < labels[i-1].Y+lineHeight {
				t.Errorf("%v became %v", ys, labels)
				break
			}
		}
	}
}

func TestWrite_FailureLeavesWhatWasThere(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "plan.html")
	fail := func(w io.Writer) error {
		w.Write(make([]byte, 1<<20))
		return io.ErrShortWrite
	}
	if err := writeFile(page, fail); err == nil {
		t.Error("no error")
	}
	wantFiles(t, folder, false)
	if err := os.WriteFile(page, []byte("an older page"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(page, fail); err == nil {
		t.Error("no error")
	}
	if after, err := os.ReadFile(page); string(after) != "an older page" {
		t.Errorf("%d bytes, %v, want the older page", len(after), err)
	}
	wantFiles(t, folder, true)
}

func TestWaitAxis(t *testing.T) {
	for _, tt := range []struct {
		name  string
		waits []time.Duration
		want  string
	}{
		{"one wait", []time.Duration{300 * time.Millisecond}, "100 ms@100 1 s@0"},
		{"one that is a power of ten", []time.Duration{time.Second}, "100 ms@100 1 s@0"},
		{"zeros", []time.Duration{0, 2 * time.Second, 200 * time.Millisecond}, "0@100 100 ms@67 1 s@33 10 s@0"},
		{"too many decades", []time.Duration{20 * time.Second, 3 * time.Microsecond},
			"0@100 10 ms@80 100 ms@60 1 s@40 10 s@20 100 s@0"},
	} {
		var e extent
		for _, wait := range tt.waits {
			e.add(wait)
		}
		a := e.axis(100, 0)
		var ticks []string
		for _, tick := range a.Ticks {
			ticks = append(ticks, fmt.Sprintf("%s@%.0f", tick.Label, tick.At))
		}
		if got := strings.Join(ticks, " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		for _, wait := range tt.waits {
			if at := a.at(wait.Seconds()); at < 0 || at > 100 {
				t.Errorf("%s: %v is at %.0f, outside of the axis", tt.name, wait, at)
			}
		}
	}
}
