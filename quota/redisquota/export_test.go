package redisquota

import "time"

// SetClock has the store go by a clock of the test's instead of the servers' and this process's.
func (s *Store) SetClock(now func() time.Time) {
	epoch := now()
	s.elapsed = func() time.Duration { return now().Sub(epoch) }
	s.clock = func() float64 { return float64(now().UnixMicro()) }
}

// NotPlain has the script decide everything in its general way, which it otherwise does only where it must.
func (s *Store) NotPlain() { s.notPlain = true }

// Lease turns leases on.
func (s *Store) Lease() { s.cfg.Leases = true }
