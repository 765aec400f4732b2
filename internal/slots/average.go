package slots

import "math"

// TenantWeight and PoolWeight are what the newest holding time counts in the averages of a tenant and of all.
const (
	TenantWeight = 0.2
	PoolWeight   = 0.05
)

// Average is a moving average and the mean deviation from it, as TCP has them of round trips (Jacobson, Congestion
// Avoidance and Control, 1988). The zero Average has seen nothing, and is 0.
type Average struct {
	mean, deviation float64
	known           bool
}

// Add takes in a value that counts so much, 0 to 1.
func (a *Average) Add(value, weight float64) {
	if !a.known {
		*a = Average{value, value / 2, true}
		return
	}
	a.deviation += weight * (math.Abs(value-a.mean) - a.deviation)
	if a.deviation < 1 {
		a.deviation = 0 // arithmetic with ever smaller values is slow
	}
	a.mean += weight * (value - a.mean)
}

// Low is what most values exceed.
func (a *Average) Low() float64 { return max(a.mean-a.deviation, 0) }

// Outlasts reports whether the last of a queue will probably wait for longer than it may: so many before it want slots,
// each for as long as most that are in the average at least, and they may get so many at a time.
func (a *Average) Outlasts(wanted int, slots, limit float64) bool {
	return math.Floor(float64(wanted)/slots)*a.Low() > limit
}
