package quota

// Sweep forgets what can be forgotten now.
func (m *Memory) Sweep() {
	now := m.now()
	for i := range m.shards {
		s := m.shards[i].lock(now)
		s.sweep()
		s.mu.Unlock()
	}
}

// Keep shows the store the time, as Sweep does, and puts off every sweep until something is due again.
func (m *Memory) Keep() {
	now := m.now()
	for i := range m.shards {
		s := m.shards[i].lock(now)
		s.due = Never
		s.mu.Unlock()
	}
}

// Remembers reports whether there is an account of tenant id.
func (m *Memory) Remembers(id string) bool {
	s := m.lock(id, instant{})
	defer s.mu.Unlock()
	return s.accounts[id] != nil
}

// Forget forgets every tenant, whoever can tell.
func (m *Memory) Forget() {
	for i := range m.shards {
		s := m.shards[i].lock(m.now())
		clear(s.accounts)
		s.mu.Unlock()
	}
}

// Len returns how many tenants are remembered.
func (m *Memory) Len() int {
	n := 0
	for i := range m.shards {
		s := m.shards[i].lock(instant{})
		n += len(s.accounts)
		s.mu.Unlock()
	}
	return n
}

// Armed reports whether the timer is set.
func (m *Memory) Armed() bool { return m.alarm.due.Load() != int64(Never) }

// Memory returns the limiter's store.
func (l *Limiter) Memory() *Memory { return l.own }
