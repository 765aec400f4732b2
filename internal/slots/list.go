package slots

// links are an element's neighbours in one list.
type links[T any] struct{ prev, next *T }

// list is a doubly linked list through fields of its own elements, so that an element leaves from the middle in
// constant time and waiting allocates nothing. of says which of an element's links belong to the list.
type list[T any] struct {
	head, tail *T
	len        int
	of         func(*T) *links[T]
}

func (q *list[T]) push(e *T) {
	q.of(e).prev = q.tail
	if q.tail == nil {
		q.head = e
	} else {
		q.of(q.tail).next = e
	}
	q.tail = e
	q.len++
}

// remove takes out e, which must be in the list.
func (q *list[T]) remove(e *T) {
	l := q.of(e)
	if l.prev == nil {
		q.head = l.next
	} else {
		q.of(l.prev).next = l.next
	}
	if l.next == nil {
		q.tail = l.prev
	} else {
		q.of(l.next).prev = l.prev
	}
	*l = links[T]{}
	q.len--
}
