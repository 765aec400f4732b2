package quota

import (
	"math"
	"time"
)

// bucket is a token bucket that refills lazily: it stores what it held at one instant, and what it holds at a later one
// is computed from that. Nothing but a take, a refund or a change of its limit moves that instant, so whatever was
// promised of it, for example to a caller that was refused, is computed from the same numbers when it comes due.
//
// It never reads a clock: instants are passed in, as the time since an epoch of the caller's choice. An instant before
// the one stored counts as that one, so a clock that steps back neither mints tokens nor takes them.
//
// Invariant: 0 <= tokens <= burst, all finite. The zero bucket is not there yet: the first settle fills it.
type bucket struct {
	rate, burst float64 // the limit it is under, in units a second and in units
	tokens      float64 // held at the instant at
	at          time.Duration
}

// level returns the tokens held at now.
func (b *bucket) level(now time.Duration) float64 { return b.after(sub(now, b.at)) }

// after returns the tokens held so long after b.at. It never decreases as elapsed grows, because no rounding of a
// product, a quotient or a sum does; reach depends on that.
func (b *bucket) after(elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return b.tokens
	}
	if tokens := b.tokens + b.rate*float64(elapsed)/float64(time.Second); tokens < b.burst {
		return tokens
	}
	return b.burst
}

// wait returns the shortest time after now at which level is at least units: 0 where it is, [Never] where it will not
// be in any time that a Duration can say.
func (b *bucket) wait(now time.Duration, units float64) time.Duration {
	elapsed := sub(now, b.at)
	if b.after(elapsed) >= units {
		return 0
	}
	due := b.reach(units)
	if due == Never {
		return Never
	}
	return sub(due, elapsed) // more than due where now is before b.at
}

// reach returns the smallest time after b.at at which after is at least units, which is more than b.tokens. The
// division only guesses it: what counts is what after will say, rounding included, so the guess is put right against
// it. A guess is at most some units in the last place off, hence two calls of after in the usual case.
func (b *bucket) reach(units float64) time.Duration {
	guess := math.Ceil((units - b.tokens) * float64(time.Second) / b.rate)
	if units > b.burst || b.rate == 0 || guess >= float64(Never) {
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

// full returns the time after now at which the bucket is full.
func (b *bucket) full(now time.Duration) time.Duration { return b.wait(now, b.burst) }

// take removes units, which the bucket holds.
func (b *bucket) take(now time.Duration, units float64) {
	b.tokens = b.level(now) - units
	b.at = max(b.at, now)
}

// give puts units back, as far as the bucket has room.
func (b *bucket) give(now time.Duration, units float64) {
	b.tokens = min(b.burst, b.level(now)+units)
	b.at = max(b.at, now)
}

// settle puts the bucket under a limit from now on, and reports whether it was under another: what it regained under
// that one is kept as far as the new burst has room. A bucket that was not there yet starts full.
func (b *bucket) settle(now time.Duration, rate, burst float64) bool {
	if b.rate == rate && b.burst == burst {
		return false
	}
	tokens := burst
	if b.burst > 0 {
		tokens = min(burst, b.level(now))
	}
	*b = bucket{rate: rate, burst: burst, tokens: tokens, at: max(b.at, now)}
	return true
}

// sub returns a - b, kept within what a Duration can say.
func sub(a, b time.Duration) time.Duration {
	switch d := a - b; {
	case b < 0 && d < a:
		return math.MaxInt64
	case b > 0 && d > a:
		return math.MinInt64
	default:
		return d
	}
}

// add returns a + b, b not negative, kept likewise.
func add(a, b time.Duration) time.Duration { return sub(a, -b) }
