package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/internal/sidebyside"
)

// scenario is a way to measure a rival.
type scenario struct {
	name, about string
	tenants     int
	measure     func(r run, operations int) sidebyside.Cost
	operations  int // of the slow ones fewer: see slowly
	slowly      int
}

var scenarios = []scenario{
	{
		name: "free", about: "one caller, slots are free", tenants: 1, operations: 300_000, slowly: 5_000, measure: free,
	},
	{
		name: "contended", about: "64 callers of 8 tenants on 10 slots", tenants: 8, operations: 100_000, slowly: 5_000,
		measure: func(r run, n int) sidebyside.Cost { return crowd(r, 64, 8, n) },
	},
	{
		name: "crowd", about: "10,000 callers of 1,000 tenants on 10 slots, nearly all of them waiting", tenants: 1000,
		operations: 60_000, slowly: 500,
		measure: func(r run, n int) sidebyside.Cost { return crowd(r, 10_000, 1000, n) },
	},
}

const clock = "two clock reads"

// compare measures all rivals in all scenarios, in turns, and prints them.
func compare(rounds int) {
	costs := map[string]map[string]sidebyside.Row{}
	for _, s := range scenarios {
		costs[s.name] = map[string]sidebyside.Row{}
	}
	for round := range rounds {
		for _, s := range scenarios {
			for _, rival := range rivals {
				progress("round %d of %d: %s, %s", round+1, rounds, s.name, rival.name)
				n := s.operations
				if rival.slow {
					n = s.slowly
				}
				costs[s.name][rival.name] = append(costs[s.name][rival.name], s.measure(rival.new(s.tenants), n))
			}
		}
		costs["free"][clock] = append(costs["free"][clock], twoClockReads(scenarios[0].operations))
	}
	progress("")
	for _, s := range scenarios {
		s.print(costs[s.name])
	}
	ratio := func(name, scenario string, of, to rival) {
		fmt.Printf("ratio %s %.2f\n", name, costs[scenario][of.name].To(costs[scenario][to.name]))
	}
	ratio("free_vs_two_semaphores", "free", fair, twoQueues)
	ratio("free_vs_two_bare_semaphores", "free", fair, bareTwo)
	ratio("contended_vs_two_semaphores", "contended", fair, twoQueues)
	ratio("contended_vs_two_bare_semaphores", "contended", fair, bareTwo)
	ratio("crowd_vs_semaphore", "crowd", fair, oneQueue)
	ratio("crowd_apiserver_vs_ours", "crowd", apiserver, fair)
	ratio("crowd_condvar_vs_ours", "crowd", condvar, fair)
}

func (s scenario) print(costs map[string]sidebyside.Row) {
	fmt.Printf("### %s: %s\n\n", s.name, s.about)
	fmt.Println("| | ns an operation | least | most | to fairslots | allocations |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	names := []string{clock}
	for _, rival := range rivals {
		names = append(names, rival.name)
	}
	for _, name := range names {
		r := costs[name]
		if r == nil {
			continue // the clock is read with free slots only
		}
		nanos := r.Nanos()
		fmt.Printf("| %s | %.0f | %.0f | %.0f | %.2f | %.1f |\n", name,
			sidebyside.Median(nanos), slices.Min(nanos), slices.Max(nanos), r.To(costs[fair.name]), sidebyside.Median(r.Allocs()))
	}
	fmt.Println()
}

func twoClockReads(operations int) sidebyside.Cost {
	m := begin()
	for range operations {
		_ = time.Since(m.start)
		_ = time.Since(m.start)
	}
	return m.cost(operations)
}

// scale prints how the cost of fairslots grows with the waiters and with the tenants, beside one semaphore.
func scale(rounds int) {
	type point struct{ waiters, tenants int }
	points := []point{
		{10, 10}, {100, 10}, {1000, 10}, {10_000, 10}, {100_000, 10},
		{10_000, 100}, {10_000, 1000}, {10_000, 10_000},
	}
	costs := map[point]map[string]sidebyside.Row{}
	for round := range rounds {
		for _, p := range points {
			if costs[p] == nil {
				costs[p] = map[string]sidebyside.Row{}
			}
			for _, rival := range []rival{fair, oneQueue} {
				progress("round %d of %d: %d waiters of %d tenants, %s", round+1, rounds, p.waiters, p.tenants, rival.name)
				c := crowd(rival.new(p.tenants), p.waiters+capacity, p.tenants, 50_000)
				costs[p][rival.name] = append(costs[p][rival.name], c)
			}
		}
	}
	progress("")
	fmt.Println("### Growth: with the waiters, and with the tenants")
	fmt.Println()
	fmt.Println("| waiters | tenants | fairslots, ns | one semaphore, ns | to the semaphore |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	for _, p := range points {
		ours, theirs := costs[p][fair.name], costs[p][oneQueue.name]
		fmt.Printf("| %d | %d | %.0f | %.0f | %.2f |\n",
			p.waiters, p.tenants, sidebyside.Median(ours.Nanos()), sidebyside.Median(theirs.Nanos()), ours.To(theirs))
	}
}

// progress says what is measured now, where somebody watches.
func progress(format string, args ...any) {
	if info, err := os.Stderr.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	line := fmt.Sprintf(format, args...)
	fmt.Fprintf(os.Stderr, "\r%s\r%s", strings.Repeat(" ", 100), line)
	runtime.Gosched()
}
