package main

import (
	"io"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
)

// arrivals are the requests of a trace in their order, at a speed.
//
// Where the trace is to be spread, the n requests of a second come 1/n of a second after each other. How many they are,
// a second reader of the same rows finds out that is always one second ahead; so no second is too full for the memory.
type arrivals struct {
	trace *trace
	speed float64
	rows  *rows
	ahead *rows
	// next is the row that ahead has read but not counted, done says that there was none.
	next row
	done bool
	// in is how many requests the present second has, out how many of them have come.
	in, out int
}

func (t *trace) arrivals(speed float64) (*arrivals, error) {
	a := &arrivals{trace: t, speed: speed, rows: t.spool.rows()}
	if t.spread {
		a.ahead = t.spool.rows()
		return a, a.look()
	}
	return a, nil
}

// request returns the next request, io.EOF after the last one.
func (a *arrivals) request() (replay.Request, error) {
	r, err := a.rows.next()
	if err != nil {
		return replay.Request{}, err
	}
	at := r.at - a.trace.first
	if a.trace.spread {
		if a.out == a.in {
			if err := a.count(); err != nil {
				return replay.Request{}, err
			}
		}
		at += inSecond(a.out, a.in)
		a.out++
	}
	return a.trace.request(r, time.Duration(float64(at)/a.speed)), nil
}

// count counts the requests of the second that begins.
func (a *arrivals) count() error {
	a.in, a.out = 0, 0
	for second := a.next.at; !a.done && a.next.at == second; a.in++ {
		if err := a.look(); err != nil {
			return err
		}
	}
	return nil
}

// look reads one row ahead.
func (a *arrivals) look() (err error) {
	a.next, err = a.ahead.next()
	if err == io.EOF {
		a.done, err = true, nil
	}
	return err
}

// inSecond is when the request i of n in a second comes, after the second began.
func inSecond(i, n int) time.Duration {
	return time.Duration(float64(time.Second) * float64(i) / float64(n))
}
