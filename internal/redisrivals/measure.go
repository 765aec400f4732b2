package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

const (
	goroutines = 64
	tenants    = 1000
	warmUp     = 300 * time.Millisecond
	measured   = time.Second
)

// generous is a limit that refuses nobody here: a refusal may cost less than what is measured. Of its burst, a replica of
// four may lease 1,250 ahead, and rivals cannot.
var generous = limit{rate: 100_000, period: time.Second, burst: 10_000}

var errRefused = errors.New("a decision was refused, and refusals are not what is measured")

// sample is what a contender did in one round.
type sample struct {
	perSecond      float64 // decisions
	p50, p99       time.Duration
	client, server float64 // processors busy
	calls          float64 // scripts run by the server, per decision
}

// measure has all goroutines decide, each without a pause, on a server that knows nobody yet.
func measure(c contender, s *monitor) (sample, error) {
	if err := s.flush(); err != nil {
		return sample{}, err
	}
	d, closeAll, err := c.open(s.addr, generous)
	if err != nil {
		return sample{}, err
	}
	_, err = hammer(d, warmUp)
	var got sample
	if err == nil {
		got, err = s.watch(func() (*histogram, error) { return hammer(d, measured) })
	}
	if err = errors.Join(err, closeAll()); err != nil {
		return sample{}, fmt.Errorf("%s: %w", c.name, err)
	}
	return got, nil
}

// hammer returns how long each decision took.
func hammer(d decide, length time.Duration) (*histogram, error) {
	var all sync.WaitGroup
	took := make([]histogram, goroutines)
	failed := make([]error, goroutines)
	end := time.Now().Add(length)
	for i := range goroutines {
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background()) // of its own, as every request of a server has
			defer cancel()
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for now := time.Now(); now.Before(end); {
				if err := allow(ctx, d, ids[random.IntN(tenants)]); err != nil {
					failed[i] = err
					return
				}
				before := now
				now = time.Now()
				took[i].record(now.Sub(before))
			}
		})
	}
	all.Wait()
	for i := range took[1:] {
		took[0].add(&took[i+1])
	}
	return &took[0], errors.Join(failed...)
}

// allow has d decide, which must not refuse.
func allow(ctx context.Context, d decide, tenant string) error {
	allowed, err := d(ctx, tenant)
	if err == nil && !allowed {
		return errRefused
	}
	return err
}

// ids are the tenants'.
var ids = func() (all [tenants]string) {
	for i := range all {
		all[i] = fmt.Sprint("t", i)
	}
	return all
}()

// processorTime is what this process has spent.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // there is no such error with this argument
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
