// Package bucket is the arithmetic of a token bucket, for the stores of package quota. That package's documentation derives
// it.
package bucket

import (
	"math"
	"time"
)

// Never is a wait that does not end.
const Never time.Duration = math.MaxInt64

// Bucket is a token bucket that refills lazily: it stores what it held at one instant, and what it holds at a later one
// is computed from that. Nothing but a take, a refund or a change of its limit moves that instant, so whatever was
// promised of it, for example to a caller that was refused, is computed from the same numbers when it comes due.
//
// It never reads a clock: instants are passed in, as the time since an epoch of the caller's choice. An instant before
// the one stored counts as that one, so a clock that steps back neither mints tokens nor takes them.
//
// Invariant: 0 <= Tokens <= Burst, all finite. The zero Bucket is not there yet: the first Settle fills it.
type Bucket struct {
	Rate, Burst float64 // the limit it is under, in units a second and in units
	Tokens      float64 // held at the instant At
	At          time.Duration
}

// Level returns the tokens held at now.
func (b *Bucket) Level(now time.Duration) float64 { return b.after(Sub(now, b.At)) }

// after returns the tokens held so long after b.At. It never decreases as elapsed grows, because no rounding of a
// product, a quotient or a sum does; reach depends on that.
func (b *Bucket) after(elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return b.Tokens
	}
	if tokens := b.Tokens + b.Rate*float64(elapsed)/float64(time.Second); tokens < b.Burst {
		return tokens
	}
	return b.Burst
}

// Wait returns the shortest time after now at which Level is at least units: 0 where it is, [Never] where it will not
// be in any time that a Duration can say.
func (b *Bucket) Wait(now time.Duration, units float64) time.Duration {
	elapsed := Sub(now, b.At)
	if b.after(elapsed) >= units {
		return 0
	}
	due := b.reach(units)
	if due == Never {
		return Never
	}
	return Sub(due, elapsed) // more than due where now is before b.At
}

// reach returns the smallest time after b.At at which after is at least units, which is more than b.Tokens. The
// division only guesses it: what counts is what after will say, rounding included, so the guess is put right against
// it. A guess is at most some units in the last place off, hence two calls of after in the usual case.
func (b *Bucket) reach(units float64) time.Duration {
	guess := math.Ceil((units - b.Tokens) * float64(time.Second) / b.Rate)
	if units > b.Burst || b.Rate == 0 || guess >= float64(Never) {
		return Never
	}
	// Widen low and high around the guess until after(low) < units <= after(high), then halve.
	high := max(time.Duration(guess), 1)
	for step := time.Duration(1); b.after(high) < units; step *= 2 {
		if high > Never-1-step {
			return Never
		}
		high += step
	}
	low := high - 1
	for step := time.Duration(1); b.after(low) >= units; step *= 2 {
		low, high = max(0, low-step), low
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; b.after(middle) < units {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// Full returns the time after now at which the bucket is full.
func (b *Bucket) Full(now time.Duration) time.Duration { return b.Wait(now, b.Burst) }

// Take removes units, which the bucket holds.
func (b *Bucket) Take(now time.Duration, units float64) {
	b.Tokens = b.Level(now) - units
	b.At = max(b.At, now)
}

// Give puts units back, as far as the bucket has room.
func (b *Bucket) Give(now time.Duration, units float64) {
	b.Tokens = min(b.Burst, b.Level(now)+units)
	b.At = max(b.At, now)
}

// Settle puts the bucket under a limit from now on, and reports whether it was under another: what it regained under
// that one is kept as far as the new burst has room. A bucket that was not there yet starts full.
func (b *Bucket) Settle(now time.Duration, rate, burst float64) bool {
	if b.Rate == rate && b.Burst == burst {
		return false
	}
	tokens := burst
	if b.Burst > 0 {
		tokens = min(burst, b.Level(now))
	}
	*b = Bucket{Rate: rate, Burst: burst, Tokens: tokens, At: max(b.At, now)}
	return true
}

// Sub returns a - b, kept within what a Duration can say.
func Sub(a, b time.Duration) time.Duration {
	switch d := a - b; {
	case b < 0 && d < a:
		return math.MaxInt64
	case b > 0 && d > a:
		return math.MinInt64
	default:
		return d
	}
}

// Add returns a + b, b not negative, kept likewise.
func Add(a, b time.Duration) time.Duration { return Sub(a, -b) }
