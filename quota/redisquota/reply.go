package redisquota

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tenantgate/tenantgate/internal/bucket"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// What became of an operation. The numbers are the script's.
const (
	decided = iota
	unknownTier
	broken
)

// errBroken is why nothing was done to an account whose key has a value that is none.
var errBroken = errors.New("redisquota: value that the store did not write")

// errReply is returned for a reply that the script cannot have made.
var errReply = errors.New("redisquota: reply that makes no sense")

// reader reads a reply. Once there is not enough left it has failed, and reads zeros.
type reader struct {
	rest   string
	failed bool
}

func (r *reader) bytes(n int) string {
	if n > len(r.rest) {
		r.failed, r.rest = true, ""
		return ""
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint8() byte {
	if b := r.bytes(1); b != "" {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() int {
	low := r.uint8()
	return int(low) | int(r.uint8())<<8
}

func (r *reader) float() float64 {
	var b [8]byte
	copy(b[:], r.bytes(8))
	f := math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
	if math.IsNaN(f) {
		r.failed = true
		return 0
	}
	return f
}

// micros reads an instant or a span, in microseconds.
func (r *reader) micros() float64 {
	f := r.float()
	if math.Abs(f) > 1e17 { // some thousand years
		r.failed = true
		return 0
	}
	return f
}

// tokens reads what a bucket holds.
func (r *reader) tokens() float64 {
	f := r.float()
	if f < 0 || math.IsInf(f, 1) {
		r.failed = true
		return 0
	}
	return f
}

// units reads a number of units.
func (r *reader) units() int64 {
	f := r.float()
	if f < 0 || f > 1<<53 {
		r.failed = true
		return 0
	}
	return int64(f)
}

// read hands the reply out to the operations. Its error says that none of it can be believed.
func (r *request) read(reply string) error {
	in := &reader{rest: reply}
	r.now = in.micros()
	tokens, elapsed, held := in.tokens(), in.micros(), in.tokens()
	c := &r.rules.Cluster
	if r.mode == clusterHere {
		r.shared = level{
			Bucket:  bucket.Bucket{Rate: c.PerSecond, Burst: float64(c.Burst), Tokens: tokens},
			elapsed: micros(elapsed),
			held:    held,
		}
	}
	r.left = portion{open: in.tokens(), reserve: in.tokens()}
	for i, op := range r.ops {
		switch status := in.uint8(); status {
		case decided:
			r.readFound(in, op)
		case unknownTier:
			name := in.bytes(int(in.uint8()))
			if name == "" {
				return errReply
			}
			for _, op := range r.ops[i:] { // the script went no further
				op.missing = name
			}
			return in.end()
		case broken:
			op.fail(fmt.Errorf("%w: account of %s is %s", errBroken, op.tenant, in.bytes(in.uint16())), false)
		default:
			return errReply
		}
	}
	return in.end()
}

// end returns an error unless everything was read and there was enough.
func (r *reader) end() error {
	if r.failed || r.rest != "" {
		return errReply
	}
	return nil
}

func (r *request) readFound(in *reader, op *operation) {
	switch op.kind {
	case draw:
		d, c := op.drawing, &r.rules.Cluster
		d.got = portion{open: float64(in.units()), reserve: float64(in.units()), ends: in.micros()}
		d.level.Bucket = bucket.Bucket{Rate: c.PerSecond, Burst: float64(c.Burst), Tokens: in.tokens()}
		d.level.elapsed, d.level.held = micros(in.micros()), in.tokens()
	case take, look:
		short, index, flags := in.uint8(), in.uint16(), in.uint8()
		op.assignedInStore = flags&1 != 0
		if index >= len(r.tiers) {
			in.failed = true
			return
		}
		tier := &r.tiers[index]
		tokens, elapsed := in.tokens(), in.micros()
		if tier.Rate != tenant.Unlimited && tokens > float64(tier.Burst) {
			in.failed = true
			return
		}
		j := judgement{
			call: op.call, tier: tier, rules: r.rules, shared: &r.shared,
			own: level{
				Bucket:  bucket.Bucket{Rate: tier.Rate, Burst: float64(tier.Burst), Tokens: tokens},
				elapsed: micros(elapsed),
			},
			now: time.UnixMicro(int64(r.now)).UTC(),
			at:  time.UnixMicro(int64(max(r.now, r.now-elapsed))).UTC(),
		}
		for w := range quota.Window(quota.Windows) {
			if tier.windows.Has(w) {
				j.spent[w] = in.units()
			}
		}
		if flags&2 != 0 {
			j.own.held = in.tokens()
			op.lease = hold{units: int(in.units()), ends: in.micros()}
			op.leaseFor = micros(op.lease.ends - r.now)
		}
		j.answer(short)
	}
}
