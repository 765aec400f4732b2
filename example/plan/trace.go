package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
)

// maxWork bounds the slot time of a trace, and its span at any speed: what a time.Duration holds, with room to spare.
const maxWork = 1_000_000_000 * time.Second

// trace is one that was read from start to end and has no fault. Its memory is bounded by the names in it.
type trace struct {
	name                       string
	spool                      *spool
	tenants, tiers, operations names
	requests                   int
	// first is the offset of the first request; times count from there. end is when the last one comes, and work all
	// durations together.
	first, end, work time.Duration
	// spread says that all offsets are whole seconds, and that requests of the same second are spread over it.
	spread bool
}

// openTrace reads the trace that opts name. The caller closes it.
func openTrace(ctx context.Context, opts *options, stdin io.Reader, bar *progress) (*trace, error) {
	in, name, size := stdin, "stdin", int64(0)
	if opts.trace != "-" {
		f, err := os.Open(opts.trace)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil {
			size = info.Size()
		}
		in, name = f, opts.trace
	}
	bar.start("reading", size)
	return readTrace(name, bar.reader(interruptible(ctx, in)), opts)
}

// readTrace reads all of in.
func readTrace(name string, in io.Reader, opts *options) (_ *trace, err error) {
	t := &trace{name: name, spread: opts.spread}
	if t.spool, err = newSpool(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	csv, err := newCSVReader(name, in)
	if err != nil {
		return nil, err
	}
	var second int // how many requests came at the same offset as the last one
	for {
		rec, err := csv.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		r, err := t.take(rec, opts)
		if err != nil {
			return nil, csv.fault(csv.rowLine(), "%v", err)
		}
		if r.at != t.end {
			second = 0
		}
		second++
		t.end = r.at
		if err := t.spool.write(r); err != nil {
			return nil, err
		}
	}
	if t.requests == 0 {
		return nil, csv.fault(csv.line, "no requests")
	}
	if t.spread {
		t.end += inSecond(second-1, second)
	}
	t.end -= t.first
	return t, t.spool.flush()
}

// take counts rec, and gives it a duration and numbers for its names.
func (t *trace) take(rec record, opts *options) (row, error) {
	for _, table := range opts.tables {
		if _, ok := table.tiers.Lookup(rec.tier); rec.tier != "" && !ok {
			return row{}, fmt.Errorf("unknown tier %.40q: -tiers must describe it%s", rec.tier, table.inQuotes())
		}
	}
	if rec.duration < 0 {
		rec.duration = opts.durations.of(rec.operation)
	}
	if rec.duration > maxWork-t.work {
		return row{}, fmt.Errorf("the durations up to here are more than %v together", maxWork)
	}
	if t.requests == 0 {
		t.first = rec.at
	}
	t.requests++
	t.work += rec.duration
	t.spread = t.spread && rec.at%time.Second == 0
	return row{
		at: rec.at, duration: rec.duration,
		tenant: t.tenants.number(rec.tenant), tier: t.tiers.number(rec.tier), operation: t.operations.number(rec.operation),
	}, nil
}

func (t *trace) close() { t.spool.close() }

// speedFor returns how many times as fast the trace must come for its work to be load times what capacity slots can do.
func (t *trace) speedFor(load float64, capacity int) (float64, error) {
	if t.end == 0 || t.work == 0 {
		return 0, errors.New("a trace without any time between its requests, or without durations, has no load: use -speed")
	}
	speed := load * float64(capacity) * float64(t.end) / float64(t.work)
	return speed, t.checkSpeed(speed)
}

// loadAt is the inverse of speedFor, 0 where there is none.
func (t *trace) loadAt(speed float64, capacity int) float64 {
	if t.end == 0 {
		return 0
	}
	return speed * float64(t.work) / (float64(capacity) * float64(t.end))
}

func (t *trace) checkSpeed(speed float64) error {
	if float64(t.end)/speed > float64(maxWork) {
		return fmt.Errorf("at speed %.3g the trace lasts for more than %v", speed, maxWork)
	}
	return nil
}

// request is r as the engine takes it, at the time at.
func (t *trace) request(r row, at time.Duration) replay.Request {
	return replay.Request{
		At: at, Duration: r.duration,
		Tenant: t.tenants.all[r.tenant], Tier: t.tiers.all[r.tier], Operation: t.operations.all[r.operation],
	}
}

// interruptible reads in until ctx is done, even where a Read waits for somebody to type.
func interruptible(ctx context.Context, in io.Reader) io.Reader {
	out, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, in)
		writer.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { writer.CloseWithError(ctx.Err()) })
	return out
}
