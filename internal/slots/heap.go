package slots

// The core's heaps.
const (
	ready   = iota // lanes whose first waiter may run, the first to run first
	longest        // lanes with a waiter, the longest queue for its share first
	heaps
)

// laneHeap is a heap of lanes that knows where each is. It is not container/heap, because in a crowded pool most time
// goes into reaching memory: here to compare and to move are to read and write two dense arrays, and lanes are left
// alone.
type laneHeap struct {
	entries []entry
	places  []int32 // by the lanes' numbers: 1 more than the index; 0: not there
}

// degree is how many children an entry has. Of more than two there are fewer moves to make.
const degree = 4

// entry is a lane with what decides its order. Of equals the oldest lane goes first.
type entry struct {
	major, minor float64
	last         uint64
	lane         *lane
	number       int32 // the lane's
}

func (a *entry) before(b *entry) bool {
	if a.major != b.major {
		return a.major < b.major
	}
	if a.minor != b.minor {
		return a.minor < b.minor
	}
	if a.last != b.last {
		return a.last < b.last
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

// has reports whether l is in the heap.
func (h *laneHeap) has(l *lane) bool { return int(l.number) < len(h.places) && h.places[l.number] > 0 }

// set puts e's lane, which may be in the heap, where e belongs.
func (h *laneHeap) set(e entry) {
	e.number = e.lane.number
	if h.has(e.lane) {
		h.place(e, int(h.places[e.number])-1)
		return
	}
	if n := int(e.number) + 1 - len(h.places); n > 0 {
		h.places = append(h.places, make([]int32, n)...)
	}
	h.entries = append(h.entries, e)
	h.place(e, len(h.entries)-1)
}

// remove takes l out, if it is in the heap.
func (h *laneHeap) remove(l *lane) {
	if h.has(l) {
		h.cut(l)
	}
}

func (h *laneHeap) cut(l *lane) {
	i := int(h.places[l.number]) - 1
	h.places[l.number] = 0
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
		parent := (i - 1) / degree
		if !e.before(&h.entries[parent]) {
			break
		}
		h.fill(i, h.entries[parent])
		i = parent
	}
	for {
		first := degree*i + 1
		if first >= len(h.entries) {
			break
		}
		children := h.entries[first:min(first+degree, len(h.entries))]
		least := 0
		for j := 1; j < len(children); j++ {
			if children[j].before(&children[least]) {
				least = j
			}
		}
		if !children[least].before(&e) {
			break
		}
		h.fill(i, children[least])
		i = first + least
	}
	h.fill(i, e)
}

func (h *laneHeap) fill(i int, e entry) {
	h.entries[i] = e
	h.places[e.number] = int32(i + 1)
}

// clear takes all lanes out, and lets go of the memory.
func (h *laneHeap) clear() { *h = laneHeap{} }
