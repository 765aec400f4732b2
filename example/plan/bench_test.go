package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// writeTrace writes a busy trace: n requests, 400 a second, of some tenants, a few of which send most.
func writeTrace(tb testing.TB, n, tenants int) string {
	tb.Helper()
	f, err := os.Create(filepath.Join(tb.TempDir(), "trace.csv"))
	if err != nil {
		tb.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	b := bufio.NewWriter(f)
	b.WriteString("offset_s,tenant,tier,operation,duration_ms\n")
	tiers, operations := []string{"free", "pro"}, []string{"page", "asset", "export"}
	var at float64
	for range n {
		at += r.ExpFloat64() / 400
		tenant := int(float64(tenants) * r.Float64() * r.Float64() * r.Float64())
		fmt.Fprintf(b, "%.4f,t%d,%s,%s,%.1f\n", at, tenant, tiers[tenant%2], operations[r.IntN(3)], 20*r.ExpFloat64())
	}
	if err := errors.Join(b.Flush(), f.Close()); err != nil {
		tb.Fatal(err)
	}
	return f.Name()
}

var busyFlags = []string{"-tiers", "free share=2; pro share=6"}

// BenchmarkPlan replays a million requests with each of the four policies.
func BenchmarkPlan(b *testing.B) {
	const requests = 1_000_000
	args := append(busyFlags, writeTrace(b, requests, 1000))
	b.ReportAllocs()
	for b.Loop() {
		if code := run(b.Context(), args, nil, io.Discard, os.Stderr); code != 0 {
			b.Fatal("exit code", code)
		}
	}
	b.ReportMetric(float64(b.N)*requests*4/b.Elapsed().Seconds(), "replayed/s")
}
