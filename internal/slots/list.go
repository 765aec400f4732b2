package slots

// list is a doubly linked list through the links of its own elements, so that an element leaves from the middle in
// constant time and waiting allocates nothing.
type list[T any] struct {
	head, tail *link[T]
	len        int
}

// link is an element's place in one list.
type link[T any] struct {
	prev, next *link[T]
	elem       *T
}

// first returns the element that was pushed first, nil where the list is empty.
func (q *list[T]) first() *T {
	if q.head == nil {
		return nil
	}
	return q.head.elem
}

// push puts e last. Its link must be in no list.
func (q *list[T]) push(e *T, l *link[T]) {
	*l = link[T]{prev: q.tail, elem: e}
	if q.tail == nil {
		q.head = l
	} else {
		q.tail.next = l
	}
	q.tail = l
	q.len++
}

// remove takes out the element of l, which must be in the list.
func (q *list[T]) remove(l *link[T]) {
	if l.prev == nil {
		q.head = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		q.tail = l.prev
	} else {
		l.next.prev = l.prev
	}
	*l = link[T]{}
	q.len--
}
