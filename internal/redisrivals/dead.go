package main

import (
	"context"
	"errors"
	"time"

	"github.com/tenantgate/tenantgate/internal/redistest"
	"github.com/tenantgate/tenantgate/internal/sidebyside"
)

const (
	batch   = 1000            // decisions timed together: to read the clock takes long beside one
	batches = 1000            // of each
	noticed = 5 * time.Second // after that a killed server should be known to be dead
)

// outage is what a decision takes: in process, and while the server is dead.
type outage struct {
	memory, dead float64 // nanoseconds
	ratio        float64
}

// measureOutage kills the server, and measures one caller's decisions once they no longer wait for it.
func measureOutage(s *redistest.Server) (outage, error) {
	memory, closeMemory, err := openMemory(generous)
	if err != nil {
		return outage{}, err
	}
	defer closeMemory()
	dead, closeDead, err := ours.open(s.Addr(), generous)
	if err != nil {
		return outage{}, err
	}
	defer closeDead() // may fail: there is nobody to give anything back to
	if _, err := timed(dead, 1); err != nil {
		return outage{}, err
	}
	s.Kill()
	if err := untilFast(dead); err != nil {
		return outage{}, err
	}
	return compareOutage(memory, dead)
}

// untilFast returns once decisions take less than an attempt to connect does.
func untilFast(d decide) error {
	for start := time.Now(); time.Since(start) < noticed; {
		took, err := timed(d, batch)
		if err != nil {
			return err
		}
		if took < 5_000 {
			return nil
		}
	}
	return errors.New("the store goes on to wait for a dead server")
}

func compareOutage(memory, dead decide) (outage, error) {
	var inProcess, shared, ratios []float64
	for range batches {
		m, err := timed(memory, batch)
		if err != nil {
			return outage{}, err
		}
		d, err := timed(dead, batch)
		if err != nil {
			return outage{}, err
		}
		inProcess, shared, ratios = append(inProcess, m), append(shared, d), append(ratios, d/m)
	}
	return outage{memory: sidebyside.Median(inProcess), dead: sidebyside.Median(shared), ratio: sidebyside.Median(ratios)}, nil
}

// timed returns how many nanoseconds each of n decisions took on average.
func timed(d decide, n int) (float64, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	start := time.Now()
	for i := range n {
		if err := allow(ctx, d, ids[i%tenants]); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start)) / float64(n), nil
}
