package redisquota

// SweptBefore reports whether a sweep of the leases looks for tenant a's before it looks for tenant b's.
func (s *Store) SweptBefore(a, b string) bool {
	ls := &s.leases
	for i := range ls.shards {
		if &ls.shards[i] == ls.shard(b) {
			return false
		}
		if &ls.shards[i] == ls.shard(a) {
			return true
		}
	}
	return false
}
