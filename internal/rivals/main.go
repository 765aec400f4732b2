// Rivals measures tenantgate's pools beside what people use instead: semaphores, a channel, the bulkhead and the adaptive
// limiter of failsafe-go, the fair queue of the Kubernetes API server, and the work-conserving rule with a condition
// variable. It is a module of its own, so that none of them is ever a dependency of those who use tenantgate.
//
//	make rivals
//
// All numbers are of one run on one machine, each the median of several rounds in which all take their turns: only the
// ratios mean anything, each the median of the ratios within the rounds. The lines "ratio NAME VALUE" are for other
// programs. Each rival is called in the cheapest way that it has. Two semaphores, which only a service's own code makes
// a rival, are measured twice: written as a service has to, with the tenant's found by its ID and a release function to
// return, and bare.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/tenantgate/tenantgate/internal/sidebyside"
)

func main() {
	rounds := flag.Int("rounds", 7, "how often each is measured")
	flag.Parse()
	if *rounds < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	others := sidebyside.Watch()
	compare(*rounds)
	fmt.Println()
	scale(*rounds)
	others.Print()
}
