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

func (r row) median() float64 { return median(r, func(c cost) float64 { return c.nanos }) }
func (r row) allocs() float64 { return median(r, func(c cost) float64 { return c.allocs }) }

func median(r row, of func(cost) float64) float64 {
	var all []float64
	for _, c := range r {
		all = append(all, of(c))
	}
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
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
		name: "free", about: "one caller, slots are free", tenants: 1, operations: 300_000, slowly: 20_000, measure: free,
	},
	{
		name: "contended", about: "64 callers of 8 tenants on 10 slots", tenants: 8, operations: 100_000, slowly: 20_000,
		measure: func(r run, n int) cost { return crowd(r, 64, 8, n) },
	},
	{
		name: "crowd", about: "10,000 callers of 1,000 tenants on 10 slots, nearly all of them waiting", tenants: 1000,
		operations: 100_000, slowly: 500,
		measure: func(r run, n int) cost { return crowd(r, 10_000, 1000, n) },
	},
}

// compare measures all rivals in all scenarios, in turns, and prints them.
func compare(rounds int) {
	costs := map[string]map[string]row{}
	for _, s := range scenarios {
		costs[s.name] = map[string]row{}
	}
	const clock = "two clock reads"
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
	names := []string{clock}
	for _, rival := range rivals {
		names = append(names, rival.name)
	}
	for _, s := range scenarios {
		fmt.Printf("### %s: %s\n\n", s.name, s.about)
		fmt.Println("| | ns an operation | to fairslots | allocations |\n| --- | --- | --- | --- |")
		ours := costs[s.name][fair.name].median()
		for _, name := range names {
			if r := costs[s.name][name]; r != nil {
				fmt.Printf("| %s | %.0f | %.2f | %.1f |\n", name, r.median(), r.median()/ours, r.allocs())
			}
		}
		fmt.Println()
	}
	ratio := func(name, scenario string, of, to rival) {
		fmt.Printf("ratio %s %.2f\n", name, costs[scenario][of.name].median()/costs[scenario][to.name].median())
	}
	ratio("free_vs_two_semaphores", "free", fair, twoQueues)
	ratio("free_vs_two_semaphores_no_look_up", "free", fair, bareTwo)
	ratio("contended_vs_two_semaphores", "contended", fair, twoQueues)
	ratio("contended_vs_two_semaphores_no_look_up", "contended", fair, bareTwo)
	ratio("crowd_vs_semaphore", "crowd", fair, oneQueue)
	ratio("crowd_apiserver_vs_ours", "crowd", apiserver, fair)
	ratio("crowd_condvar_vs_ours", "crowd", condvar, fair)
}

var sink time.Duration

func twoClockReads(operations int) cost {
	start := time.Now()
	return timed(operations, func() {
		for range operations {
			sink += time.Since(start)
			sink += time.Since(start)
		}
	})
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
	fmt.Println("| waiters | tenants | fairslots, ns | one semaphore, ns | to the semaphore |\n| --- | --- | --- | --- | --- |")
	for _, p := range points {
		ours, theirs := costs[p][fair.name].median(), costs[p][oneQueue.name].median()
		fmt.Printf("| %d | %d | %.0f | %.0f | %.2f |\n", p.waiters, p.tenants, ours, theirs, ours/theirs)
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
