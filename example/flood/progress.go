package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/internal/flood"
)

// progress counts the answers of a flood.
type progress struct{ noisy, quiet atomic.Int64 }

func (p *progress) answered(id string) {
	if id == flood.Noisy.Tenant {
		p.noisy.Add(1)
	} else {
		p.quiet.Add(1)
	}
}

// show prints how far the flood of the policy called name has come: on a terminal on a line that changes, until stop is
// called, and else once, when it is.
func (p *progress) show(out io.Writer, name string) (stop func()) {
	write := func(start, end string) {
		fmt.Fprintf(out, "%s%-15s answered: noisy %3d of %d, quiet %2d of %d%s",
			start, name, p.noisy.Load(), flood.Noisy.Requests, p.quiet.Load(), flood.Quiet.Requests, end)
	}
	if !isTerminal(out) {
		return func() { write("", "\n") }
	}
	var line sync.WaitGroup
	stopped := make(chan struct{})
	line.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				write("\r", "")
			case <-stopped:
				write("\r", "\n")
				return
			}
		}
	})
	return func() {
		close(stopped)
		line.Wait()
	}
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
