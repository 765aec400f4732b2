// Redisrivals measures the quotas that replicas share through Redis beside what people use instead: rueidis and go-redis
// with a script of their own, and redis_rate. It is a module of its own, so that none of them is ever a dependency of
// those who use tenantgate.
//
//	make bench-redis
//
// All take their turns, in several rounds, against one redis-server that this program starts: only the ratios mean
// anything, each the median of the ratios within the rounds. The lines "ratio NAME VALUE" are for other programs. Every
// rival keeps one limit for each tenant, ours a token bucket, a daily quota and the bucket that all tenants share.
// Nothing is refused.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9/logging"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

func main() {
	rounds := flag.Int("rounds", 11, "how often each is measured")
	flag.Parse()
	if *rounds < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, "redisrivals:", err)
		os.Exit(1)
	}
}

func run(rounds int) error {
	logging.Disable() // of go-redis, which else tells how often it could not reach the server that was killed
	dir, err := os.MkdirTemp("", "redisrivals")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := redistest.Launch(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	results, err := compare(s.Addr(), rounds)
	if err != nil {
		return err
	}
	o, err := measureOutage(s)
	if err != nil {
		return err
	}
	results.print()
	o.print()
	results.printRatios()
	fmt.Printf("ratio dead_redis_vs_memory %.2f\n", o.ratio)
	return nil
}
