package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/tenantgate/tenantgate/internal/sidebyside"
)

// goroutines measure everything a second time, all at once: a lock that they share would show.
const goroutines = 2

// result is what an operation takes one goroutine, and several at once.
type result struct{ alone, together sidebyside.Row }

// results are by the name of what was measured.
type results map[string]*result

// compare measures everything, in turns.
func compare(rounds int) results {
	r := results{}
	for _, s := range subjects {
		r[s.name] = &result{}
	}
	for range rounds {
		for _, s := range subjects {
			r[s.name].alone = append(r[s.name].alone, measure(1, s.start))
		}
		for _, s := range subjects {
			r[s.name].together = append(r[s.name].together, measure(goroutines, s.start))
		}
	}
	return r
}

func (r results) print(w io.Writer) {
	fmt.Fprintf(w, "### The tenant of a request, out of a token of %d bytes with HS256\n\n", len(hs256.token("t0", nil)))
	fmt.Fprintln(w, "| | ns an operation | least | most | to remembered | allocations | two goroutines, ns | to remembered |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	ours := r[remembered.name]
	for _, s := range subjects {
		got := r[s.name]
		nanos := got.alone.Nanos()
		fmt.Fprintf(w, "| %s | %.0f | %.0f | %.0f | %.2f | %.1f | %.0f | %.2f |\n", s.name,
			sidebyside.Median(nanos), slices.Min(nanos), slices.Max(nanos), got.alone.To(ours.alone), sidebyside.Median(got.alone.Allocs()),
			sidebyside.Median(got.together.Nanos()), got.together.To(ours.together))
	}
	fmt.Fprintln(w)
}

// printRatios is for other programs.
func (r results) printRatios(w io.Writer) {
	ratio := func(name, of, to string) { fmt.Fprintf(w, "ratio %s %.2f\n", name, r[of].alone.To(r[to].alone)) }
	ratio("remembered_vs_sha256", remembered.name, hash.name)
	ratio("hs256_vs_remembered", golangHS256.name, remembered.name)
	ratio("rs256_vs_remembered", golangRS256.name, rememberedRS256.name)
	ratio("es256_vs_remembered", golangES256.name, rememberedES256.name)
	ratio("eddsa_vs_remembered", golangEdDSA.name, rememberedEdDSA.name)
	ratio("jwtauth_vs_remembered", jwtauthBoth.name, remembered.name)
	ratio("jwtauth_vs_gate", jwtauthBoth.name, gate.name)
	ratio("auth0_vs_remembered", auth0CheckJWT.name, remembered.name)
	ratio("auth0_vs_gate", auth0CheckJWT.name, gate.name)
	ratio("unremembered_hs256_vs_golang_jwt", unremembered.name, golangHS256.name)
	fmt.Fprintf(w, "allocations remembered %.2f\n", sidebyside.Median(r[remembered.name].alone.Allocs()))
}
