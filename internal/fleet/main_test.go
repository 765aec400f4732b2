package main

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is a replica too: the fleet starts this program, whichever it is.
func TestMain(m *testing.M) {
	if isReplica() {
		exit(runReplica(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

var small = workload{seed: 1, tenants: 30, requests: 900, perSecond: 900}

func TestProve_HoldsInSmall(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := prove(t.Context(), small, &out); err != nil {
		t.Errorf("%v:\n%s", err, &out)
	}
	if !strings.HasSuffix(out.String(), "\nfleet: ok\n") {
		t.Errorf("the last line is not fleet: ok:\n%s", &out)
	}
}
