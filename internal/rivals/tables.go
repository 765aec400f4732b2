package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// row is a rival's costs in one scenario, over all rounds.
type row []cost

func (r row) nanos() []float64 {
	all := make([]float64, len(r))
	for i, c := range r {
		all[i] = c.nanos
	}
	return all
}

func (r row) allocs() []float64 {
	all := make([]float64, len(r))
	for i, c := range r {
		all[i] = c.allocs
	}
	return all
}

// to returns what r takes where other takes 1: the median of what it is in each round. The ratio of two medians could be
// that of two rounds, and the machine may have changed between them: when another program takes one of two processors,
// goroutines wake each other in half the time, which is most of an operation for some rivals and less of it for others.
func (r row) to(other row) float64 {
	each := make([]float64, len(r))
	for i := range r {
		each[i] = r[i].nanos / other[i].nanos
	}
	return median(each)
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// scenario is a way to measure a rival.
type scenario struct {
	name, about string
	tenants     int
	measure     func(r run, operations int) cost
	operations  int // of the slow ones fewer: see slowly
	slowly      int
}

var scenarios = []scenario{
	{
		name: "free", about: "one caller, slots are free", tenants: 1, operations: 300_000, slowly: 5_000, measure: free,
	},
	{
		name: "contended", about: "64 callers of 8 tenants on 10 slots", tenants: 8, operations: 100_000, slowly: 5_000,
		measure: func(r run, n int) cost { return crowd(r, 64, 8, n) },
	},
	{
		name: "crowd", about: "10,000 callers of 1,000 tenants on 10 slots, nearly all of them waiting", tenants: 1000,
		operations: 60_000, slowly: 500,
		measure: func(r run, n int) cost { return crowd(r, 10_000, 1000, n) },
	},
}

const clock = "two clock reads"

// compare measures all rivals in all scenarios, in turns, and prints them.
func compare(rounds int) {
	costs := map[string]map[string]row{}
	for _, s := range scenarios {
		costs[s.name] = map[string]row{}
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
		fmt.Printf("ratio %s %.2f\n", name, costs[scenario][of.name].to(costs[scenario][to.name]))
	}
	ratio("free_vs_two_semaphores", "free", fair, twoQueues)
	ratio("free_vs_two_bare_semaphores", "free", fair, bareTwo)
	ratio("contended_vs_two_semaphores", "contended", fair, twoQueues)
	ratio("contended_vs_two_bare_semaphores", "contended", fair, bareTwo)
	ratio("crowd_vs_semaphore", "crowd", fair, oneQueue)
	ratio("crowd_apiserver_vs_ours", "crowd", apiserver, fair)
	ratio("crowd_condvar_vs_ours", "crowd", condvar, fair)
}

func (s scenario) print(costs map[string]row) {
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
		nanos := r.nanos()
		fmt.Printf("| %s | %.0f | %.0f | %.0f | %.2f | %.1f |\n", name,
			median(nanos), slices.Min(nanos), slices.Max(nanos), r.to(costs[fair.name]), median(r.allocs()))
	}
	fmt.Println()
}

func twoClockReads(operations int) cost {
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
	costs := map[point]map[string]row{}
	for round := range rounds {
		for _, p := range points {
			if costs[p] == nil {
				costs[p] = map[string]row{}
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
			p.waiters, p.tenants, median(ours.nanos()), median(theirs.nanos()), ours.to(theirs))
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
