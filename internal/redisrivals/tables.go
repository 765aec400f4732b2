package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/tenantgate/tenantgate/internal/sidebyside"
)

// table has the samples of each contender, one a round.
type table map[string][]sample

// compare measures all contenders, in turns.
func compare(addr string, rounds int) (table, error) {
	m := newMonitor(addr)
	defer m.close()
	results := table{}
	for range rounds {
		for _, c := range contenders {
			got, err := measure(c, m)
			if err != nil {
				return nil, err
			}
			results[c.name] = append(results[c.name], got)
		}
	}
	return results, nil
}

func (t table) print() {
	fmt.Printf("### %d goroutines, %d tenants, %d processors for client and server together\n\n",
		goroutines, tenants, runtime.GOMAXPROCS(0))
	fmt.Println("| | decisions/s | to rueidis | p50 | p99 | p99 to rueidis " +
		"| calls a decision | client's processors | server's | server's µs a decision |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, c := range contenders {
		fmt.Printf("| %s | %.0f | %.2f | %v | %v | %.2f | %.3f | %.2f | %.2f | %.2f |\n", c.name,
			t.median(c, perSecond), t.ratio(perSecond, c, viaRueidis),
			t.time(c, p50), t.time(c, p99), t.ratio(p99, c, viaRueidis),
			t.median(c, func(s sample) float64 { return s.calls }),
			t.median(c, func(s sample) float64 { return s.client }),
			t.median(c, func(s sample) float64 { return s.server }),
			t.median(c, func(s sample) float64 { return s.server / s.perSecond * 1e6 }))
	}
	fmt.Println()
}

// printRatios is for other programs.
func (t table) printRatios() {
	line := func(name string, of func(sample) float64, one, other contender) {
		fmt.Printf("ratio %s %.2f\n", name, t.ratio(of, one, other))
	}
	line("redis_vs_rueidis", perSecond, ours, viaRueidis)
	line("redis_vs_redis_rate", perSecond, ours, viaRate)
	line("leased_vs_rueidis", perSecond, leased, viaRueidis)
	line("p99_vs_rueidis", p99, ours, viaRueidis)
}

func (o outage) print() {
	fmt.Println("### One caller, once the server was killed")
	fmt.Println()
	fmt.Println("| | ns a decision | to memory |")
	fmt.Println("| --- | --- | --- |")
	fmt.Printf("| in process | %.0f | 1.00 |\n", o.memory)
	fmt.Printf("| redisquota, the server dead | %.0f | %.2f |\n\n", o.dead, o.ratio)
}

func perSecond(s sample) float64 { return s.perSecond }
func p50(s sample) float64       { return float64(s.p50) }
func p99(s sample) float64       { return float64(s.p99) }

func (t table) median(c contender, of func(sample) float64) float64 {
	var each []float64
	for _, s := range t[c.name] {
		each = append(each, of(s))
	}
	return sidebyside.Median(each)
}

func (t table) time(c contender, of func(sample) float64) time.Duration {
	return time.Duration(t.median(c, of)).Round(100 * time.Nanosecond)
}

// ratio returns what one has where the other has 1: the median of what it is in each round. The ratio of two medians
// could be that of two rounds, between which the machine may have changed.
func (t table) ratio(of func(sample) float64, one, other contender) float64 {
	var each []float64
	for i := range t[one.name] {
		each = append(each, of(t[one.name][i])/of(t[other.name][i]))
	}
	return sidebyside.Median(each)
}
