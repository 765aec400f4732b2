// Fleet proves that limits hold over replicas that share them: three processes of an API behind one Redis, thousands of
// requests of many tenants over HTTP, and at the end each tenant's daily usage in Redis beside the access logs of the
// replicas. Once without faults, and once with a replica killed (kill -9) and Redis killed and restarted on the way.
//
//	make fleet
//
// Without faults usage is what was served, to the unit. With faults units may be charged without being served, never the
// other way round: those of a decision whose answer never came, of a refund that Redis did not take, and of a request
// that the replica was about when it died. They are counted: usage must not exceed what was served by more.
//
// And nobody got more than his bucket lets through, over any interval: burst + rate x time. While Redis is away each
// replica goes on with its part, and Redis's bucket regains meanwhile: so an interval that touches the outage may have
// the replicas' own bursts besides, and the rate times what it has of the outage.
//
// The replica dies while Redis is there. One that dies while Redis is away takes with it the count of what it admitted
// by itself: how much that is nobody could say here.
//
// The last line is "fleet: ok"; or what is wrong, and the exit status is 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if isReplica() {
		exit(runReplica(os.Stdin, os.Stdout))
	}
	var w workload
	flag.Uint64Var(&w.seed, "seed", 1, "of the random requests")
	flag.IntVar(&w.tenants, "tenants", 60, "how many there are")
	flag.IntVar(&w.requests, "requests", 9000, "how many are sent in each phase")
	flag.IntVar(&w.perSecond, "rate", 1500, "how many are sent a second")
	flag.Parse()
	if flag.NArg() > 0 || w.tenants < 2 || w.requests < 300 || w.perSecond < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(prove(ctx, w, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

var errViolated = errors.New("limits were violated")

// prove runs both phases, and prints what came of them.
func prove(ctx context.Context, w workload, out io.Writer) error {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	calm, err := runPhase(ctx, dir, "without faults", w, false)
	if err != nil {
		return err
	}
	rough, err := runPhase(ctx, dir, "with faults", w, true)
	if err != nil {
		return err
	}
	printTable(out, calm, rough)
	violations := append(calm.violations, rough.violations...)
	if len(violations) > 0 {
		for _, v := range violations {
			fmt.Fprintln(out, v)
		}
		return errViolated
	}
	fmt.Fprintln(out, "fleet: ok")
	return nil
}
