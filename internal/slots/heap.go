package slots

import "container/heap"

// laneHeap is a heap of lanes that know their places in it, for container/heap.
type laneHeap struct {
	lanes  []*lane
	before func(a, b *lane) bool
	place  func(*lane) *int // 1 more than the index; 0: not in the heap
}

func (h *laneHeap) Len() int           { return len(h.lanes) }
func (h *laneHeap) Less(i, j int) bool { return h.before(h.lanes[i], h.lanes[j]) }

func (h *laneHeap) Swap(i, j int) {
	h.lanes[i], h.lanes[j] = h.lanes[j], h.lanes[i]
	*h.place(h.lanes[i]), *h.place(h.lanes[j]) = i+1, j+1
}

func (h *laneHeap) Push(x any) {
	l := x.(*lane)
	h.lanes = append(h.lanes, l)
	*h.place(l) = len(h.lanes)
}

func (h *laneHeap) Pop() any {
	last := len(h.lanes) - 1
	l := h.lanes[last]
	h.lanes[last] = nil
	h.lanes = h.lanes[:last]
	*h.place(l) = 0
	return l
}

// first returns the lane before all others, nil where the heap is empty.
func (h *laneHeap) first() *lane {
	if len(h.lanes) == 0 {
		return nil
	}
	return h.lanes[0]
}

// set puts l, whose order may have changed, where it belongs now: in the heap if member is set, out of it if not.
func (h *laneHeap) set(l *lane, member bool) {
	switch place := *h.place(l); {
	case place == 0 && member:
		heap.Push(h, l)
	case place != 0 && member:
		heap.Fix(h, place-1)
	case place != 0:
		heap.Remove(h, place-1)
	}
}

// clear takes all lanes out.
func (h *laneHeap) clear() {
	for _, l := range h.lanes {
		*h.place(l) = 0
	}
	clear(h.lanes)
	h.lanes = h.lanes[:0]
}
