package slots

// laneHeap is a binary heap of lanes that know their places in it. It is not container/heap because most of what a crowded
// pool does is to compare: here that is two numbers side by side in memory, and no call.
type laneHeap struct {
	entries []entry
	which   int // the index in a lane's places
}

// entry is a lane with what decides its order. Equals go by the lanes' last grant, then by their age.
type entry struct {
	major, minor float64
	lane         *lane
}

func (a *entry) before(b *entry) bool {
	if a.major != b.major {
		return a.major < b.major
	}
	if a.minor != b.minor {
		return a.minor < b.minor
	}
	if a.lane.grant != b.lane.grant {
		return a.lane.grant < b.lane.grant
	}
	return a.lane.born < b.lane.born
}

// first returns the lane before all others, nil where the heap is empty.
func (h *laneHeap) first() *lane {
	if len(h.entries) == 0 {
		return nil
	}
	return h.entries[0].lane
}

// set puts e's lane, which may be in the heap, where e belongs.
func (h *laneHeap) set(e entry) {
	i := e.lane.places[h.which] - 1
	if i < 0 {
		i = len(h.entries)
		h.entries = append(h.entries, e)
	}
	h.place(e, i)
}

// remove takes l out, if it is in the heap.
func (h *laneHeap) remove(l *lane) {
	i := l.places[h.which] - 1
	if i < 0 {
		return
	}
	l.places[h.which] = 0
	end := len(h.entries) - 1
	last := h.entries[end]
	h.entries[end] = entry{}
	h.entries = h.entries[:end]
	if i < end {
		h.place(last, i)
	}
}

// place moves the hole at i to where e belongs, and fills it with e.
func (h *laneHeap) place(e entry, i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h.entries[parent]) {
			break
		}
		h.fill(i, h.entries[parent])
		i = parent
	}
	for {
		child := 2*i + 1
		if child >= len(h.entries) {
			break
		}
		if right := child + 1; right < len(h.entries) && h.entries[right].before(&h.entries[child]) {
			child = right
		}
		if !h.entries[child].before(&e) {
			break
		}
		h.fill(i, h.entries[child])
		i = child
	}
	h.fill(i, e)
}

func (h *laneHeap) fill(i int, e entry) {
	h.entries[i] = e
	e.lane.places[h.which] = i + 1
}

// clear takes all lanes out.
func (h *laneHeap) clear() {
	for _, e := range h.entries {
		e.lane.places[h.which] = 0
	}
	clear(h.entries)
	h.entries = h.entries[:0]
}
