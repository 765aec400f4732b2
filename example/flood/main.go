// Flood shows what the choice of slots does to an API when one tenant floods it.
//
//	go run ./example/flood            compares four ways to hand out slots, and prints the figures
//	go run ./example/flood -serve     serves the API on 127.0.0.1:8080, or the address that follows, and prints curl lines
//
// The comparison serves the API on a port of the loopback interface, once for each way, and sends the flood of package
// internal/flood over HTTP: 500 requests of a noisy tenant at once, and then 10 of a quiet one. It takes about six
// seconds. Where a figure is not what it should be, it tries again, up to three times; after that the exit code is 1, as
// on a machine that is busy with something else.
//
// The API itself, which is what to copy, is in api.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	serve := flag.Bool("serve", false, "serve the API until Ctrl-C, on 127.0.0.1:8080 or the `address` that follows")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *serve, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "flood:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, serve bool, args []string) error {
	switch {
	case !serve && len(args) == 0:
		return compare(ctx, out)
	case serve && len(args) == 0:
		return serveUntilDone(ctx, out, "127.0.0.1:8080")
	case serve && len(args) == 1:
		return serveUntilDone(ctx, out, args[0])
	}
	return fmt.Errorf("arguments %q, want none, or -serve and an address", args)
}
