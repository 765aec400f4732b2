package bucket

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// maxUnits is the largest burst that a tier can have.
const maxUnits = 999_999_999_999_999

// The arithmetic is the one thing that is tested from inside: its corners cannot be reached through a limiter.

func TestBucket_WaitIsExact(t *testing.T) {
	for _, tt := range []struct {
		name          string
		rate, burst   float64
		tokens, units float64
		want          time.Duration
	}{
		{"10 a second", 10, 1, 0, 1, 100 * time.Millisecond},
		{"10 a second, half a token there", 10, 1, 0.5, 1, 50 * time.Millisecond},
		{"10 a minute", 10.0 / 60, 10, 0, 1, 6 * time.Second},
		{"10 a minute, all of them", 10.0 / 60, 10, 0, 10, time.Minute},
		{"7 a minute", 7.0 / 60, 10, 0, 7, time.Minute},
		{"3 a second, rounded up", 3, 10, 0, 1, 333_333_334},
		{"1000 an hour", 1000.0 / 3600, 10, 0, 10, 36 * time.Second},
		{"a token less an ulp", 10, 1, math.Nextafter(1, 0), 1, 1},
		{"there already", 10, 5, 5, 5, 0},
		{"more than the burst", 10, 5, 5, 6, Never},
		{"rate 0", 0, 5, 4, 5, Never},
		{"rate 0, there already", 0, 5, 5, 5, 0},
		{"one in 11 days", 1e-6, 1, 0, 1, 1e6 * time.Second},
		{"one in 300 years", 1e-10, 1, 0, 1, Never},
		{"denormal rate", math.SmallestNonzeroFloat64, 1, 0, 1, Never},
		{"rate 1e300", 1e300, 1e15, 0, 1e15, 1},
		{"largest rate", math.Nextafter(math.MaxFloat64, 0), maxUnits, 0, maxUnits, 1},
		{"one unit, of a very large burst", 1, maxUnits, 0, 1, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := Bucket{Rate: tt.rate, Burst: tt.burst, Tokens: tt.tokens, At: 42}
			if got := b.Wait(42, tt.units); got != tt.want {
				t.Errorf("wait for %v at %v/s of %v, %v there: %v, want %v", tt.units, tt.rate, tt.burst, tt.tokens, got, tt.want)
			}
		})
	}
}

func TestBucket_OlderTimeChangesNothing(t *testing.T) {
	b := Bucket{Rate: 10, Burst: 5, Tokens: 5}
	b.Take(time.Second, 3)
	b.Take(time.Second-time.Millisecond, 1) // late, with an older time
	if got := b.Level(time.Second); got != 1 {
		t.Errorf("level %v, want 1", got)
	}
	b.Give(0, 0)
	if got := b.Level(time.Second + 100*time.Millisecond); got != 2 {
		t.Errorf("level 100 ms later %v, want 2: refilled once", got)
	}
	// Seen from before, what is promised includes the way back to where the bucket is.
	if got, want := b.Wait(0, 2), time.Second+100*time.Millisecond; got != want {
		t.Errorf("wait from before %v, want %v", got, want)
	}
}

// FuzzBucket: whatever the numbers are, a bucket holds between nothing and its burst, regains no more than its rate,
// and keeps to the nanosecond what it promises.
func FuzzBucket(f *testing.F) {
	f.Add(10.0, 1.0, 0.0, 1.0, int64(0), int64(0))
	f.Add(10.0/60, 10.0, 0.3, 7.0, int64(-5), int64(1e10))
	f.Add(1e-9, 5.0, 4.5, 5.0, int64(math.MaxInt64), int64(math.MinInt64))
	f.Add(1e300, 1e15, 1.0, 1e15, int64(1), int64(math.MaxInt64))
	f.Add(math.SmallestNonzeroFloat64, 1.0, 0.0, 1.0, int64(math.MinInt64), int64(math.MaxInt64))
	f.Add(math.MaxFloat64/2, 2.0, 0.0, 1.0, int64(0), int64(1))
	f.Fuzz(func(t *testing.T, rate, burst, tokens, units float64, at, now int64) {
		for _, x := range []*float64{&rate, &burst, &tokens, &units} {
			if *x = math.Abs(*x); math.IsNaN(*x) || math.IsInf(*x, 0) {
				return // no number that a tier can have
			}
		}
		burst = 1 + math.Floor(min(burst, maxUnits-1))
		units = math.Floor(min(units, maxUnits))
		b := Bucket{Rate: rate, Burst: burst, Tokens: min(tokens, burst), At: time.Duration(at)}
		checkBucket(t, b, time.Duration(now), units)
	})
}

// The same over all magnitudes, which a fuzzer with little time does not come round to.
func TestBucket_KeepsItsPromisesAtAnyMagnitude(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	magnitude := func(low, high float64) float64 { return math.Pow(10, low+(high-low)*random.Float64()) }
	for range 50_000 {
		burst := math.Floor(magnitude(0, 15))
		b := Bucket{Rate: magnitude(-12, 20), Burst: burst, Tokens: burst * random.Float64(), At: time.Duration(magnitude(0, 18))}
		now := b.At + time.Duration(magnitude(0, 17)-magnitude(0, 17))
		checkBucket(t, b, now, math.Ceil(burst*random.Float64()))
	}
}

func checkBucket(t *testing.T, b Bucket, now time.Duration, units float64) {
	level := b.Level(now)
	if !(level >= b.Tokens && level <= b.Burst) {
		t.Fatalf("%+v: level at %d is %v, want %v to %v", b, now, level, b.Tokens, b.Burst)
	}
	if gain := regained(b, now); new(big.Float).SetFloat64(level-b.Tokens).Cmp(gain) > 0 {
		t.Fatalf("%+v: level at %d is %v, a gain above %v", b, now, level, gain)
	}

	wait := b.Wait(now, units)
	switch {
	case wait < 0:
		t.Fatalf("%+v: wait for %v at %d is %d", b, units, now, wait)
	case wait == 0 && level < units, wait > 0 && level >= units:
		t.Fatalf("%+v: wait for %v at %d is %d, with %v there", b, units, now, wait, level)
	case wait == Never:
		if units <= b.Burst && b.Rate > 0 && b.after(Never/2) >= units && now >= b.At {
			t.Fatalf("%+v: wait for %v at %d is Never, but it comes", b, units, now)
		}
	case wait > 0:
		// Counted from b.At, where now+wait may not fit.
		due := wait + Sub(now, b.At)
		if got := b.after(due); got < units {
			t.Fatalf("%+v: %v at the promised instant, want %v", b, got, units)
		}
		if got := b.after(due - 1); got >= units {
			t.Fatalf("%+v: %v a nanosecond before the promised instant, want less than %v", b, got, units)
		}
	}

	settled := b
	settled.Settle(now, b.Rate/2, b.Burst/2+1)
	if got := settled.Level(now); got > level {
		t.Fatalf("%+v: settling at %d made %v of %v", b, now, got, level)
	}
	if wait != 0 {
		return
	}
	taken := b
	taken.Take(now, units)
	if got := taken.Level(now); got < 0 || math.Abs(got-(level-units)) > level*1e-15 {
		t.Fatalf("%+v: %v left of %v after taking %v", b, got, level, units)
	}
	taken.Give(now, units)
	if got := taken.Level(now); got > b.Burst || got > level*(1+1e-15) {
		t.Fatalf("%+v: %v after giving back, %v before", b, got, level)
	}
}

// regained returns the most that a bucket may regain until now: the exact product, and what rounding may add to it.
func regained(b Bucket, now time.Duration) *big.Float {
	exact := func() *big.Float { return new(big.Float).SetPrec(256) }
	elapsed := exact().Sub(exact().SetInt64(int64(now)), exact().SetInt64(int64(b.At)))
	if elapsed.Sign() < 0 {
		return big.NewFloat(0)
	}
	gain := exact().Mul(elapsed, big.NewFloat(b.Rate))
	gain.Quo(gain, big.NewFloat(1e9))
	gain.Mul(gain, big.NewFloat(1+1e-14))
	ulp := math.Nextafter(b.Burst, math.Inf(1)) - b.Burst
	return gain.Add(gain, big.NewFloat(ulp))
}

// A bucket that is taken from a million times at odd instants gives out what its rate allows and no more: roundings do
// not add up.
func TestBucket_RoundingsDoNotAddUp(t *testing.T) {
	b := Bucket{Rate: 10.0 / 3, Burst: 7, Tokens: 7}
	admitted, now := 0, time.Duration(0)
	for i := range 1_000_000 {
		now += time.Duration(i*7919) % (20 * time.Millisecond)
		if b.Level(now) >= 1 {
			b.Take(now, 1)
			admitted++
		}
	}
	want := 7 + 10.0/3*now.Seconds()
	if got := float64(admitted); got > want+1e-6 || got < want-8 {
		t.Errorf("admitted %v in %v, want at most %v and nearly that", got, now, want)
	}
}
