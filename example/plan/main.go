// Plan answers the question which shares to configure: it replays a trace of requests through several ways to hand out
// slots, in virtual time, and prints who would have waited for how long, and who would have been turned away.
//
//	go run ./example/plan [flags] trace.csv
//	go run ./example/plan -load 0.3,0.6,0.8,0.95,1.2 -html plan.html example/plan/testdata/web-trace.csv
//
// The trace is CSV with a header. It needs columns offset_s (seconds since its start, never going back) and tenant; tier,
// operation and duration_ms are read where they are there. "-" is standard input. See -h for the flags.
//
// A trace with a fault is refused with its line, exit code 1, and nothing is reported of it; a mistake in the flags is
// exit code 2. The same trace and flags give the same bytes.
package main

import (
	"bytes"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	opts, err := parseFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage())
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "plan: %v\nplan: -h lists the flags, with an example\n", err)
		return 2
	}
	if err := plan(ctx, opts, stdin, stdout, stderr); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(stderr, "plan:", err)
		return 1
	}
	return 0
}

// plan replays the trace and only then, when nothing can fault it any more, writes the page and the text.
func plan(ctx context.Context, opts *options, stdin io.Reader, stdout, stderr io.Writer) error {
	if opts.html != "" {
		if err := checkTarget(opts.html, opts.trace); err != nil {
			return err
		}
	}
	bar := newProgress(stderr)
	defer bar.clear()
	trace, err := openTrace(ctx, opts, stdin, bar)
	if err != nil {
		return err
	}
	defer trace.close()
	result, err := sweep(ctx, opts, trace, bar)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	printResult(&text, result)
	if opts.html != "" {
		if err := writeFile(opts.html, func(w io.Writer) error { return renderPage(w, result) }); err != nil {
			return err
		}
	}
	bar.clear()
	_, err = stdout.Write(text.Bytes())
	return err
}
