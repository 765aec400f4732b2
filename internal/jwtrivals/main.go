// Jwtrivals measures what it takes to find the tenant of a request in its token, beside what people use instead:
// golang-jwt, go-chi/jwtauth and auth0/go-jwt-middleware. It is a module of its own, so that the latter two are never
// dependencies of those who use tenantgate.
//
//	make rivals
//
// All numbers are of one run on one machine, each the median of several rounds in which all take their turns: only the
// ratios mean anything, each the median of the ratios within the rounds. The lines "ratio NAME VALUE" are for other
// programs. All get the same request and have to find the same tenant, by the same rules: signature, algorithm, issuer,
// audience, expiry, not-before and issued-at. Each rival is set up, and asked for the tenant, in the cheapest way that it
// has. None of them remembers a token that it has verified; package jwttenant does, and is measured without that too.
package main

import (
	"flag"
	"os"

	"github.com/tenantgate/tenantgate/internal/sidebyside"
)

func main() {
	rounds := flag.Int("rounds", 11, "how often each is measured")
	flag.Parse()
	if *rounds < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	others := sidebyside.Watch()
	results := compare(*rounds)
	results.print(os.Stdout)
	results.printRatios(os.Stdout)
	others.Print()
}
