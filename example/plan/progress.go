package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress is a bar on a terminal, nothing elsewhere. It is of one goroutine.
type progress struct {
	out   io.Writer // nil: not a terminal
	what  string
	done  int64
	of    int64 // 0: unknown
	drawn time.Time
}

func newProgress(out io.Writer) *progress {
	if !isTerminal(out) {
		out = nil
	}
	return &progress{out: out}
}

// start begins something new.
func (p *progress) start(what string, of int64) { p.what, p.done, p.of = what, 0, of }

// add draws the bar at most every 50 ms.
func (p *progress) add(n int64) {
	p.done += n
	if p.out == nil || time.Since(p.drawn) < 50*time.Millisecond {
		return
	}
	p.drawn = time.Now()
	if p.of == 0 {
		fmt.Fprintf(p.out, "\r%-10s %d MB", p.what, p.done>>20)
		return
	}
	const width = 40
	part := min(float64(p.done)/float64(p.of), 1)
	full := int(part * width)
	fmt.Fprintf(p.out, "\r%-10s [%s%s] %3.0f %%",
		p.what, strings.Repeat("#", full), strings.Repeat(" ", width-full), part*100)
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.out != nil && !p.drawn.IsZero() {
		fmt.Fprint(p.out, "\r\033[K")
		p.drawn = time.Time{}
	}
}

// reader counts what is read of in.
func (p *progress) reader(in io.Reader) io.Reader { return &counted{in: in, progress: p} }

type counted struct {
	in       io.Reader
	progress *progress
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.progress.add(int64(n))
	return n, err
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
