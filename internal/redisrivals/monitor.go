package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// monitor asks the server what it has spent, over a connection of its own.
type monitor struct {
	addr   string
	client *redis.Client
}

func newMonitor(addr string) *monitor {
	return &monitor{addr: addr, client: redis.NewClient(&redis.Options{Addr: addr})}
}

func (m *monitor) flush() error { return m.client.FlushAll(context.Background()).Err() }

func (m *monitor) close() error { return m.client.Close() }

// spent is what has been spent so far.
type spent struct {
	at             time.Time
	client, server time.Duration // of processors
	scripts        float64       // run by the server
}

// watch measures what work costs, which returns how long each decision took.
func (m *monitor) watch(work func() (*histogram, error)) (sample, error) {
	before, err := m.spent()
	if err != nil {
		return sample{}, err
	}
	took, err := work()
	if err != nil {
		return sample{}, err
	}
	after, err := m.spent()
	if err != nil {
		return sample{}, err
	}
	elapsed, decisions := after.at.Sub(before.at).Seconds(), float64(took.count())
	return sample{
		perSecond: decisions / elapsed,
		p50:       took.quantile(0.5),
		p99:       took.quantile(0.99),
		client:    (after.client - before.client).Seconds() / elapsed,
		server:    (after.server - before.server).Seconds() / elapsed,
		calls:     (after.scripts - before.scripts) / decisions,
	}, nil
}

func (m *monitor) spent() (spent, error) {
	text, err := m.client.Info(context.Background(), "cpu", "commandstats").Result()
	if err != nil {
		return spent{}, err
	}
	s := spent{at: time.Now(), client: processorTime()}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return spent{}, fmt.Errorf("%s of the server: %w", name, err)
			}
			s.server += time.Duration(seconds * float64(time.Second))
		case "cmdstat_eval", "cmdstat_evalsha", "cmdstat_fcall":
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			n, err := strconv.ParseFloat(calls, 64)
			if err != nil {
				return spent{}, fmt.Errorf("%s of the server: %w", name, err)
			}
			s.scripts += n
		}
	}
	return s, nil
}
