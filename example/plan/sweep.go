package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
)

// result is all that is reported.
type result struct {
	opts  *options
	trace *trace
	// cases are by table, and for each table by load.
	cases []*outcome
}

// outcome is what each policy made of the trace at one load, with one table of tiers.
type outcome struct {
	table       *tierTable
	load, speed float64
	// shown says that this load's tenants are shown one by one.
	shown bool
	// reports are by policy, in the order of the options; each lists only the worst tenants.
	reports []*replay.Report
	// middle is, for each of them, the p99 of the tenant in the middle of those served.
	middle []time.Duration
	// contests are fairslots against each other policy.
	contests []contest
}

// sweep replays the trace for every table, load and policy.
func sweep(ctx context.Context, opts *options, t *trace, bar *progress) (*result, error) {
	points, err := speeds(opts, t)
	if err != nil {
		return nil, err
	}
	r := &result{opts: opts, trace: t}
	bar.start("replaying", int64(t.requests)*int64(len(points)*len(opts.tables)))
	for i := range opts.tables {
		for _, point := range points {
			of := point
			of.table = &opts.tables[i]
			if of.reports, err = compare(ctx, opts, t, &of, bar); err != nil {
				return nil, err
			}
			of.contests = contests(opts.policies, of.reports)
			for _, report := range of.reports {
				of.middle = append(of.middle, middleP99(report))
				report.Tenants = append([]replay.Group(nil), report.Tenants[:min(opts.top, len(report.Tenants))]...)
			}
			r.cases = append(r.cases, &of)
		}
	}
	return r, nil
}

// speeds returns an outcome without reports for each load.
func speeds(opts *options, t *trace) (all []outcome, err error) {
	if len(opts.loads) == 0 {
		one := outcome{speed: opts.speed, load: t.loadAt(opts.speed, opts.capacity), shown: true}
		return []outcome{one}, t.checkSpeed(opts.speed)
	}
	shown := 0
	for i, load := range opts.loads {
		speed, err := t.speedFor(load, opts.capacity)
		if err != nil {
			return nil, err
		}
		if load == opts.show || opts.show == 0 && load < 1 {
			shown = i
		}
		all = append(all, outcome{load: load, speed: speed})
	}
	all[shown].shown = true
	return all, nil
}

// chunk is how many requests go to the policies at once, ahead how many chunks may wait for the slowest of them.
const (
	chunk = 512
	ahead = 4
)

// compare replays the trace through all policies side by side.
func compare(ctx context.Context, opts *options, t *trace, of *outcome, bar *progress) ([]*replay.Report, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	reports := make([]*replay.Report, len(opts.policies))
	feeds := make([]chan []replay.Request, len(opts.policies))
	var all sync.WaitGroup
	for i, policy := range opts.policies {
		feeds[i] = make(chan []replay.Request, ahead)
		all.Go(func() {
			report, err := replayAll(ctx, opts.config(of.table, policy), feeds[i])
			if err != nil {
				fail(err)
			}
			reports[i] = report
		})
	}
	if err := feed(ctx, t, of.speed, feeds, bar); err != nil {
		fail(err)
	}
	for _, feed := range feeds {
		close(feed)
	}
	all.Wait()
	return reports, context.Cause(ctx)
}

// feed sends the requests of t to all feeds, which share them, until ctx is done. Whoever reads a feed reads all of it.
func feed(ctx context.Context, t *trace, speed float64, feeds []chan []replay.Request, bar *progress) error {
	in, err := t.arrivals(speed)
	for err == nil && ctx.Err() == nil {
		requests := make([]replay.Request, 0, chunk)
		for len(requests) < chunk && err == nil {
			var request replay.Request
			if request, err = in.request(); err == nil {
				requests = append(requests, request)
			}
		}
		for _, feed := range feeds {
			feed <- requests
		}
		bar.add(int64(len(requests)))
	}
	if err != nil && err != io.EOF {
		return err
	}
	return ctx.Err()
}

// replayAll replays all that comes out of feed; after an error, or once ctx is done, nothing more of it.
func replayAll(ctx context.Context, cfg replay.Config, feed <-chan []replay.Request) (*replay.Report, error) {
	run, err := replay.New(cfg)
	if err == nil {
		defer run.Close()
	}
	for requests := range feed {
		for i := 0; i < len(requests) && err == nil && ctx.Err() == nil; i++ {
			err = run.Add(requests[i])
		}
	}
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	return run.Finish(), nil
}
