package jwttenant

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// run fetches the keys: at once, then when they may have changed, when they are asked for, and again and again while that
// fails; until close.
func (r *remoteKeys) run() {
	defer close(r.done)
	defer r.end()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for r.ctx.Err() == nil {
		r.beginFetch()
		timer.Reset(r.fetch())
		select {
		case <-timer.C:
		case <-r.wake:
		case <-r.ctx.Done():
		}
	}
}

func (r *remoteKeys) beginFetch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.wake: // the timer ran out too; one fetch will do for both
	default:
	}
	if r.running == nil {
		r.running = make(chan struct{})
	}
	r.begun++
	r.began = time.Now()
}

// fetch fetches the keys once and returns the time until it should be done again.
func (r *remoteKeys) fetch() time.Duration {
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.cfg.Timeout, fmt.Errorf("no answer within %v", r.cfg.Timeout))
	document, fresh, err := r.source.fetch(ctx, r.fetcher)
	cancel()
	var keys []published
	var faults []string
	if err == nil {
		if keys, faults, err = parseKeys(document, r.use.algorithms); err != nil {
			err = fmt.Errorf("%v: %w", r.source, err)
		}
	}
	if r.ctx.Err() != nil {
		return 0 // err says nothing about the issuer
	}
	r.mu.Lock()
	var lines []logLine
	if err != nil {
		lines = r.failLocked(err)
	} else {
		lines = r.succeedLocked(keys, faults, fresh)
	}
	r.endAttemptLocked()
	next := r.next
	r.mu.Unlock()
	r.log(lines...)
	return time.Until(next)
}

func (r *remoteKeys) endAttemptLocked() {
	if r.running != nil {
		close(r.running)
		r.running = nil
	}
}

func (r *remoteKeys) succeedLocked(keys []published, faults []string, fresh time.Duration) (lines []logLine) {
	old := r.table.Load()
	table, more := newKeyTable(keys, old)
	faults = append(faults, more...)
	table.number, table.began, table.faults = r.begun, r.began, faults
	r.replaceLocked(table)
	for id := range old.byID { // what the issuer took back is no new key
		if _, still := table.byID[id]; !still {
			r.unknown.ask(id, old.number)
		}
	}
	r.unknown.age()
	r.stale.Reset(time.Until(r.began.Add(r.cfg.MaxStale)))

	switch {
	case fresh < 0: // the issuer does not say
		fresh = r.cfg.Refresh
	case fresh == 0: // at once, which cannot be
		fresh = r.cfg.Cooldown
	default:
		fresh = max(fresh, time.Second)
	}
	r.next = r.began.Add(early(min(fresh, r.cfg.MaxRefresh)))

	if r.failed > 0 {
		lines = append(lines, logLine{slog.LevelInfo, "keys are fetched again", []any{"failures", r.failed}})
	}
	r.failure, r.failed = nil, 0
	return append(lines, r.skippedLocked(table)...)
}

// skippedLocked returns a line if other keys are skipped than before, or none is left.
func (r *remoteKeys) skippedLocked(table *keyTable) []logLine {
	said := r.said
	r.said = fmt.Sprint(table.keys == 0, table.faults)
	args := []any{"skipped", len(table.faults), "why", table.why()}
	switch {
	case said == r.said:
	case table.keys == 0:
		return []logLine{{slog.LevelError, "no key that the issuer publishes can be used", args}}
	case len(table.faults) > 0:
		return []logLine{{slog.LevelInfo, "keys that the issuer publishes are skipped", args}}
	}
	return nil
}

func (r *remoteKeys) failLocked(err error) (lines []logLine) {
	const least, most = time.Second, time.Minute
	if r.failed == 0 {
		lines = []logLine{{slog.LevelWarn, "keys cannot be fetched", []any{"error", err}}}
	}
	wait := min(least<<min(r.failed, 10), most, r.cfg.Refresh)
	r.next = time.Now().Add(early(wait))
	r.failure = err
	r.failed++
	r.failures++
	return lines
}

// early makes d a little shorter, so that the replicas of a service do not all come at one time.
func early(d time.Duration) time.Duration { return d - rand.N(d/10+1) }

// replaceLocked puts next in the table's place. Keys that are not in next are gone before anybody can find those that are.
func (r *remoteKeys) replaceLocked(next *keyTable) {
	r.table.Load().retire(next)
	r.table.Store(next)
}

// expire withdraws keys that are too old. New ones may just have come.
func (r *remoteKeys) expire() {
	r.mu.Lock()
	table := r.table.Load()
	expired := table.byID != nil && time.Since(table.began) >= r.cfg.MaxStale
	if expired {
		r.replaceLocked(&keyTable{number: table.number, began: table.began})
	}
	r.mu.Unlock()
	if expired {
		r.log(logLine{slog.LevelError, "the keys are too old to be used", []any{"fetched", table.began}})
	}
}

// end withdraws all keys, and whoever waits for a fetch waits no longer. It is the last thing that run does.
func (r *remoteKeys) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endAttemptLocked()
	r.replaceLocked(&keyTable{})
	r.stale.Stop()
}

// logLine is written once mu is free, because a handler may take its time.
type logLine struct {
	level slog.Level
	text  string
	args  []any
}

func (r *remoteKeys) log(lines ...logLine) {
	logger := r.cfg.Logger.With("source", r.source.String())
	for _, l := range lines {
		logger.Log(context.Background(), l.level, "jwttenant: "+l.text, l.args...)
	}
}
