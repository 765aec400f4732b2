package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// row is a request as the trace has it, its names as numbers.
type row struct {
	at, duration            time.Duration
	tenant, tier, operation uint32
}

const rowSize = 8 + 8 + 4 + 4 + 4

func (r row) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(r.at))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.duration))
	b = binary.LittleEndian.AppendUint32(b, r.tenant)
	b = binary.LittleEndian.AppendUint32(b, r.tier)
	return binary.LittleEndian.AppendUint32(b, r.operation)
}

func parseRow(b []byte) row {
	return row{
		at:        time.Duration(binary.LittleEndian.Uint64(b)),
		duration:  time.Duration(binary.LittleEndian.Uint64(b[8:])),
		tenant:    binary.LittleEndian.Uint32(b[16:]),
		tier:      binary.LittleEndian.Uint32(b[20:]),
		operation: binary.LittleEndian.Uint32(b[24:]),
	}
}

// spool keeps rows in a temporary file: a trace is replayed several times, is read from a pipe perhaps, and may be larger
// than memory. Rows are written once, then read any number of times.
type spool struct {
	file    *os.File
	out     *bufio.Writer
	scratch [rowSize]byte
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "plan-*.rows")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // where an open file may lose its name: it then goes with the process, however that ends
	return &spool{file: f, out: bufio.NewWriterSize(f, 1<<16)}, nil
}

func (s *spool) write(r row) error {
	_, err := s.out.Write(r.append(s.scratch[:0]))
	return err
}

// flush ends the writing.
func (s *spool) flush() error { return s.out.Flush() }

func (s *spool) close() {
	s.file.Close()
	os.Remove(s.file.Name()) // where it may not
}

// rows reads a spool from its start. Any number may at the same time.
type rows struct {
	in      *bufio.Reader
	scratch [rowSize]byte
}

func (s *spool) rows() *rows {
	return &rows{in: bufio.NewReaderSize(io.NewSectionReader(s.file, 0, math.MaxInt64), 1<<16)}
}

// next returns io.EOF after the last row.
func (r *rows) next() (row, error) {
	switch _, err := io.ReadFull(r.in, r.scratch[:]); err {
	case nil:
		return parseRow(r.scratch[:]), nil
	case io.EOF:
		return row{}, io.EOF
	default:
		return row{}, fmt.Errorf("temporary file: %w", err)
	}
}
