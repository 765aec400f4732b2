package sidebyside

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Others says how much of the machine other programs had. It makes a difference: with one of two processors left, no
// goroutine is ever woken on the other one, and the ratios are those of a machine with one.
type Others struct {
	since time.Time
	busy  time.Duration // of all processors, by all but this program
	known bool
}

// Watch looks at the machine from now on.
func Watch() Others {
	busy, known := busyElsewhere()
	return Others{since: time.Now(), busy: busy, known: known}
}

// Print says so on standard output, where the system tells: on Linux.
func (o Others) Print() {
	busy, known := busyElsewhere()
	if !o.known || !known {
		return
	}
	share := float64(max(busy-o.busy, 0)) / float64(time.Since(o.since))
	fmt.Printf("\nMeanwhile other programs took %.2f of %d processors; above 0.15, measure again.\n", share, runtime.NumCPU())
}

// busyElsewhere returns how long the processors have worked for other programs since the machine started.
func busyElsewhere() (time.Duration, bool) {
	const tick = time.Second / 100 // the unit of both files, whatever the kernel's own is
	// user, nice, system, neither idle nor waiting for a disk, irq, softirq, steal
	machine, ok := sum("/proc/stat", "cpu ", 0, 1, 2, 5, 6, 7)
	if !ok {
		return 0, false
	}
	// user and system, behind the state and ten more
	own, ok := sum("/proc/self/stat", ") ", 11, 12)
	return time.Duration(machine-own) * tick, ok
}

// sum adds up some of the fields that follow a text in a file.
func sum(file, after string, which ...int) (total int64, ok bool) {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(content), after)
	fields := strings.Fields(rest)
	for _, i := range which {
		if i >= len(fields) {
			return 0, false
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, false
		}
		total += n
	}
	return total, true
}
