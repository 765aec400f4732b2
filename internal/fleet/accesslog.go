package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/tenantgate/tenantgate/tenant"
)

// entry is a line of an access log: a request that was served, or one that was turned away by a limit.
type entry struct {
	Tenant string
	Cost   int
	// From and To are Unix microseconds by the machine's one clock, which is Redis's too. The request was judged in
	// between: From is before the gate, To at the handler or, of one that was turned away, when the answer was made.
	From, To int64
	Status   int
	Reason   tenant.Reason // tenant.ReasonNone: it was served
}

func (e *entry) served() bool { return e.Reason == tenant.ReasonNone }

// refunded reports whether the bucket may have got the cost back, which is so where others were in the way of a slot.
func (e *entry) refunded() bool {
	return e.Reason == tenant.ReasonCapacity || e.Reason == tenant.ReasonClosing
}

// accessLog is the access log of one replica. Each line is written by one system call, at once, so that the kernel has it
// however the process ends.
type accessLog struct{ file *os.File }

func openAccessLog(path string) (*accessLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &accessLog{file}, nil
}

// write adds a line. It may be called concurrently.
func (l *accessLog) write(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

func (l *accessLog) close() error { return l.file.Close() }

// readAccessLog returns the lines of a log that nobody writes to any more.
func readAccessLog(path string) ([]entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []entry
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(all)+1, err)
		}
		all = append(all, e)
	}
	return all, nil
}
