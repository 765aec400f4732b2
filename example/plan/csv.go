package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// maxRecord bounds the bytes of a line and of the header. Without it a quote that is never closed would take in the rest
// of the trace.
const maxRecord = 1 << 20

// The largest offset, and duration of a request.
const (
	maxOffset   = 1_000_000_000 * time.Second
	maxDuration = 1_000_000_000 * time.Millisecond
)

// columns are where a trace has what is read of it, -1 where it has not.
type columns struct{ offset, tenant, tier, operation, duration int }

// record is a row of a trace as it stands there. Its texts are good until the next one is read.
type record struct {
	at                      time.Duration
	tenant, tier, operation string
	// duration is negative where the row has none.
	duration time.Duration
}

// csvReader reads a trace. Its errors are named by file and line.
type csvReader struct {
	name    string
	in      *csv.Reader
	budget  *budget
	columns columns
	// last is the offset of the row read last, line the line after it.
	last time.Duration
	line int
}

// newCSVReader reads the header.
func newCSVReader(name string, in io.Reader) (*csvReader, error) {
	limited := &budget{in: in, left: maxRecord}
	start := bufio.NewReader(limited)
	if bom, _ := start.Peek(3); bytes.Equal(bom, []byte("\ufeff")) {
		start.Discard(3)
	}
	r := &csvReader{name: name, in: csv.NewReader(start), budget: limited, line: 1}
	r.in.ReuseRecord = true
	header, err := r.in.Read()
	if err == io.EOF {
		return nil, r.fault(1, "empty, want a header with the columns offset_s and tenant")
	}
	if err != nil {
		return nil, r.readFault(err, nil)
	}
	r.columns, err = findColumns(header)
	if err != nil {
		return nil, r.fault(r.lineOf(0), "%v", err)
	}
	r.line = r.lineOf(len(header)-1) + 1
	return r, nil
}

func findColumns(header []string) (columns, error) {
	c := columns{offset: -1, tenant: -1, tier: -1, operation: -1, duration: -1}
	places := []struct {
		name  string
		place *int
	}{
		{"offset_s", &c.offset}, {"tenant", &c.tenant},
		{"tier", &c.tier}, {"operation", &c.operation}, {"duration_ms", &c.duration},
	}
	for i, name := range header {
		for _, p := range places {
			if strings.TrimSpace(name) != p.name {
				continue
			}
			if *p.place >= 0 {
				return c, fmt.Errorf("the column %s is there twice", p.name)
			}
			*p.place = i
		}
	}
	for _, p := range places[:2] {
		if *p.place < 0 {
			return c, fmt.Errorf("no column %s in the header", p.name)
		}
	}
	return c, nil
}

// next returns the next row, io.EOF after the last one.
func (r *csvReader) next() (record, error) {
	r.budget.left = maxRecord
	fields, err := r.in.Read()
	if err == io.EOF {
		return record{}, io.EOF
	}
	if err != nil {
		return record{}, r.readFault(err, fields)
	}
	rec := record{tenant: fields[r.columns.tenant], tier: r.field(fields, r.columns.tier),
		operation: r.field(fields, r.columns.operation), duration: -1}
	if tenant.CheckID(rec.tenant) != nil {
		return record{}, r.fault(r.lineOf(r.columns.tenant), "invalid tenant ID %.40q", rec.tenant)
	}
	if rec.at, err = parseTime("offset_s", fields[r.columns.offset], time.Second, maxOffset); err != nil {
		return record{}, r.fault(r.lineOf(r.columns.offset), "%v", err)
	}
	if rec.at < r.last {
		return record{}, r.fault(r.lineOf(r.columns.offset), "offset_s goes back from %v to %v: sort the trace by it",
			r.last.Seconds(), rec.at.Seconds())
	}
	r.last, r.line = rec.at, r.lineOf(len(fields)-1)+1
	if text := r.field(fields, r.columns.duration); text != "" {
		if rec.duration, err = parseTime("duration_ms", text, time.Millisecond, maxDuration); err != nil {
			return record{}, r.fault(r.lineOf(r.columns.duration), "%v", err)
		}
	}
	return rec, nil
}

func (r *csvReader) field(fields []string, i int) string {
	if i < 0 {
		return ""
	}
	return fields[i]
}

// lineOf returns the line of field i of the row read last.
func (r *csvReader) lineOf(i int) int {
	line, _ := r.in.FieldPos(i)
	return line
}

// rowLine returns the line on which the row read last begins.
func (r *csvReader) rowLine() int { return r.lineOf(0) }

func (r *csvReader) fault(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.name, line, fmt.Sprintf(format, args...))
}

// readFault says what kept a row, of which fields were read, from being read.
func (r *csvReader) readFault(err error, fields []string) error {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, errTooLong):
		return r.fault(r.line, "%v", err)
	case !errors.As(err, &parse):
		return fmt.Errorf("%s: %w", r.name, err)
	case errors.Is(err, csv.ErrFieldCount):
		return r.fault(parse.Line, "%d fields, want %d as in the header", len(fields), r.in.FieldsPerRecord)
	case errors.Is(err, csv.ErrQuote):
		return r.fault(parse.Line, `byte %d: a quote (") that is not closed, or text after it`, parse.Column)
	default:
		return r.fault(parse.Line, "byte %d: %v", parse.Column, parse.Err)
	}
}

// parseTime parses the number in a column of times in units, 0 to most.
func parseTime(column, text string, unit, most time.Duration) (time.Duration, error) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(n):
		return 0, fmt.Errorf("%s is %.40q, want a number", column, text)
	case n < 0:
		return 0, fmt.Errorf("%s is %.40q, want 0 or more", column, text)
	case n > float64(most/unit):
		return 0, fmt.Errorf("%s is %.40q, want at most %d", column, text, most/unit)
	}
	return time.Duration(math.Round(n * float64(unit))), nil
}

var errTooLong = fmt.Errorf("a line of more than %d bytes, or a quote that is not closed", maxRecord)

// budget is a reader that gives up when it has read more than it was left.
type budget struct {
	in   io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.in.Read(p)
	b.left -= n
	return n, err
}
