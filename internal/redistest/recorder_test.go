package redistest_test

import (
	"fmt"
	"runtime"
	"testing"
)

// recorder is a test that keeps its errors to itself.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}
