package main

import (
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

// heapSampler is the terminal of a progress bar, and whenever the bar is drawn notes how large the heap is.
type heapSampler struct{ most uint64 }

func (s *heapSampler) Write(p []byte) (int, error) {
	runtime.GC() // what is left is in use, whenever the next collection would have come
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.most = max(s.most, m.HeapAlloc)
	return len(p), nil
}

func TestPlan_MemoryDoesNotGrowWithTheTrace(t *testing.T) {
	requests := 100_000
	if info, _ := debug.ReadBuildInfo(); slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		requests /= 10 // ten times as slow
	}
	peak := func(requests int) uint64 {
		opts, err := parseFlags([]string{"-tiers", "free share=2; pro share=6", writeTrace(t, requests, 20)})
		if err != nil {
			t.Fatal(err)
		}
		var heap heapSampler
		bar := &progress{out: &heap}
		trace, err := openTrace(t.Context(), opts, nil, bar)
		if err != nil {
			t.Fatal(err)
		}
		defer trace.close()
		if _, err := sweep(t.Context(), opts, trace, bar); err != nil {
			t.Fatal(err)
		}
		return heap.most
	}
	small, large := peak(requests), peak(10*requests)
	t.Logf("most memory in use: %d kB for %d requests, %d kB for ten times as many", small>>10, requests, large>>10)
	if float64(large) > 1.5*float64(small) {
		t.Errorf("%d kB in use for %d requests, %d kB for ten times as many", small>>10, requests, large>>10)
	}
}
