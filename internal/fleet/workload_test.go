package main

import (
	"slices"
	"testing"
)

func TestWorkload_DrawsTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	w := workload{seed: 1, tenants: 60, requests: 9000}
	first := w.draw()
	if !slices.Equal(first, w.draw()) {
		t.Error("the same seed drew other requests")
	}
	w.seed = 2
	if slices.Equal(first, w.draw()) {
		t.Error("another seed drew the same requests")
	}
}

func TestWorkload_FewTenantsAskForMostAndAllRoutesAreAskedFor(t *testing.T) {
	t.Parallel()
	w := workload{seed: 1, tenants: 60, requests: 9000}
	by, of := make([]int, w.tenants), map[string]int{}
	for _, r := range w.draw() {
		by[r.tenant]++
		of[r.route]++
	}
	hot := by[0] + by[1] + by[2] + by[3] + by[4]
	if hot < w.requests/3 || slices.Min(by) == 0 {
		t.Errorf("five of %d tenants ask for %d of %d, want at least a third; and the least for %d, want some",
			w.tenants, hot, w.requests, slices.Min(by))
	}
	for i, route := range routes {
		if got, want := float64(of[route])/float64(w.requests), chance[i]; got < want-0.03 || got > want+0.03 {
			t.Errorf("%s is %.2f of the requests, want about %.2f", route, got, want)
		}
	}
}
