package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/internal/flood"
)

// row is a line of the table.
type row struct {
	policy   string
	measured flood.Report
	attempts int
}

// target is what a policy's figures should be, and what is known of them otherwise, in milliseconds and seconds.
type target struct {
	median, batch between
	virtual       [3]string
	published     [3]string
}

// between is a range, both ends included.
type between struct{ least, most time.Duration }

func (b between) holds(d time.Duration) bool { return b.least <= d && d <= b.most }

// targets by policy. Below are what the scenario allows in no time at all (the test of package flood), and what was
// published for it elsewhere. A real machine needs some milliseconds for 500 requests at once.
var targets = map[string]target{
	"shared FIFO": {
		median: between{900 * time.Millisecond, 1200 * time.Millisecond}, batch: between{time.Second, 1200 * time.Millisecond},
		virtual: [3]string{"1010", "1010", "1.00"}, published: [3]string{"982", "", "1.03"},
	},
	"hard cap": {
		median: between{0, 45 * time.Millisecond}, batch: between{1680 * time.Millisecond, 1850 * time.Millisecond},
		virtual: [3]string{"30", "50", "1.68"}, published: [3]string{"30", "51", "1.70"},
	},
	"published rule": {
		median: between{0, 200 * time.Millisecond}, batch: between{time.Second, 1500 * time.Millisecond},
		virtual: [3]string{"40-50", "70", "1.02"}, published: [3]string{"57", "79", "1.08"},
	},
	"fairslots": {
		median: between{0, 60 * time.Millisecond}, batch: between{time.Second, 1150 * time.Millisecond},
		virtual: [3]string{"30", "50", "1.02"},
	},
}

// misses says which figures of the row are off.
func (r row) misses() (all []string) {
	t := targets[r.policy]
	if got := r.measured.QuietMedian; !t.median.holds(got) {
		all = append(all, fmt.Sprintf("%s: the quiet tenant's median is %s ms, want %s to %s",
			r.policy, milliseconds(got), milliseconds(t.median.least), milliseconds(t.median.most)))
	}
	if got := r.measured.NoisyBatch; !t.batch.holds(got) {
		all = append(all, fmt.Sprintf("%s: the noisy batch took %s s, want %s to %s",
			r.policy, seconds(got), seconds(t.batch.least), seconds(t.batch.most)))
	}
	return all
}

func printTable(out io.Writer, rows []row) {
	const group = "%6s %5s %6s"
	line := func(name string, groups ...[3]string) {
		var b strings.Builder
		fmt.Fprintf(&b, "%-15s", name)
		for _, g := range groups {
			fmt.Fprintf(&b, group+"  ", g[0], g[1], g[2])
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
	fmt.Fprintf(out, "%-15s%19s  %19s  %19s\n", "", "measured over HTTP", "in virtual time", "published elsewhere")
	head := [3]string{"median", "max", "batch"}
	line("", head, head, head)
	for _, r := range rows {
		t := targets[r.policy]
		m := r.measured
		line(r.policy, [3]string{milliseconds(m.QuietMedian), milliseconds(m.QuietMax), seconds(m.NoisyBatch)}, t.virtual, t.published)
	}
	fmt.Fprint(out, "\nmedian and max: the quiet tenant's answers, in ms. batch: all of the noisy tenant's, in s.\n\n")
}

// verdict says what the table shows, and returns an error where a figure is not as it should be.
func verdict(out io.Writer, rows []row) error {
	var misses []error
	by := map[string]flood.Report{}
	for _, r := range rows {
		by[r.policy] = r.measured
		for _, miss := range r.misses() {
			misses = append(misses, errors.New(miss))
		}
		if r.attempts > 1 {
			fmt.Fprintf(out, "%s: measured %d times, because a figure was out of range.\n", r.policy, r.attempts)
		}
	}
	if len(misses) > 0 {
		return fmt.Errorf("is the machine busy with something else?\n%w", errors.Join(misses...))
	}
	fair, hard, shared := by["fairslots"], by["hard cap"], by["shared FIFO"]
	fmt.Fprintf(out, "fairslots answers the quiet tenant in %s ms: a hard cap in %s, a shared pool in %s.\n",
		milliseconds(fair.QuietMedian), milliseconds(hard.QuietMedian), milliseconds(shared.QuietMedian))
	fmt.Fprintf(out, "It is through with the noisy tenant's requests in %s s: a hard cap in %s, a shared pool in %s.\n",
		seconds(fair.NoisyBatch), seconds(hard.NoisyBatch), seconds(shared.NoisyBatch))
	return nil
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.0f", d.Seconds()*1000) }
func seconds(d time.Duration) string      { return fmt.Sprintf("%.2f", d.Seconds()) }
