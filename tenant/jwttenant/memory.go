package jwttenant

import (
	"container/heap"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

// digest is the SHA-256 of a token. It stands for the token itself, which is a credential and not kept: nobody can find
// two tokens with one digest, nor a token from its digest.
type digest [sha256.Size]byte

// digestOf copies raw to the stack, where a conversion to []byte would take memory for each request.
func digestOf(raw string) digest {
	if len(raw) > 2048 {
		return digestOfLong(raw)
	}
	var buf [2048]byte
	return sha256.Sum256(buf[:copy(buf[:], raw)])
}

// digestOfLong is apart so that usual tokens do not need so much of the stack.
//
//go:noinline
func digestOfLong(raw string) digest {
	var buf [defaultTokenBytes]byte
	if len(raw) > len(buf) {
		return sha256.Sum256([]byte(raw))
	}
	return sha256.Sum256(buf[:copy(buf[:], raw)])
}

// memory remembers verified tokens by their digest, at most so many in total and of one tenant. Whoever has no good token
// cannot change it. A tenant with many pushes out its own, and where all is full, the one with the most goes first, so
// that nobody's flood of tokens costs a tenant with few of them theirs. Of one tenant's tokens the oldest goes, but one
// that came again since gets a second chance (Corbató, "A Paging Experiment with the Multics System", 1968).
//
// Looking up takes the read lock of one shard. All changes come after a verification, which costs a hundred times as much
// as the one lock that they share.
type memory struct {
	most, perTenant int
	shards          [shards]shard

	mu      sync.Mutex
	byOwner map[string]*account
	largest accounts // all of byOwner
	size    int      // the sum of the lengths of their queues
	turn    uint64   // how many places in queues were ever given
}

const (
	shards = 64
	// secondChances bounds how many tokens are passed over for one that is forgotten: together they take about as long as
	// a verification.
	secondChances = 128
)

// shard has a part of the tokens. What is in it is in a queue too.
type shard struct {
	mu     sync.RWMutex
	tokens map[digest]*entry // written with memory.mu held too
}

// entry is a remembered token.
type entry struct {
	*verified
	owner string // as of [verified.owner], which may have to put it together
	sum   digest
	again atomic.Bool // it came again since it got its place
	turn  uint64      // the number of its place; guarded by memory.mu
}

// account is what is remembered of one tenant, never nothing while memory.mu is free.
type account struct {
	owner string
	queue []*entry // by turn
	index int      // in accounts
}

// newMemory returns a memory for most tokens, perTenant of one tenant, both at least 1.
func newMemory(most, perTenant int) *memory {
	m := &memory{most: most, perTenant: perTenant, byOwner: map[string]*account{}}
	for i := range m.shards {
		m.shards[i].tokens = map[digest]*entry{}
	}
	return m
}

func (m *memory) shard(sum *digest) *shard { return &m.shards[sum[0]%shards] }

// find returns what is known of a token; nil: it is not remembered, or not good at the time now.
func (m *memory) find(sum *digest, now time.Time) *verified {
	s := m.shard(sum)
	s.mu.RLock()
	e := s.tokens[*sum]
	s.mu.RUnlock()
	if e == nil || !e.lasts(now) {
		return nil
	}
	if !e.again.Load() { // to write each time would cost each processor the others' caches
		e.again.Store(true)
	}
	return e.verified
}

// add remembers a token that was good at the time now.
func (m *memory) add(sum *digest, v *verified, now time.Time) {
	e := &entry{verified: v, owner: v.owner(), sum: *sum}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shard(sum)
	if known := s.tokens[*sum]; known != nil && known.lasts(now) {
		return // two requests brought it at once
	}
	m.makeRoom(e.owner, now)
	m.enqueue(e)
	s.mu.Lock()
	s.tokens[*sum] = e // in place of one that is good no more, which leaves its queue in its turn
	s.mu.Unlock()
}

// makeRoom forgets what keeps one more token of owner's from being remembered.
func (m *memory) makeRoom(owner string, now time.Time) {
	// Of those that are good no more, two go for each that comes: so they never pile up.
	for range 2 {
		if a := m.byOwner[owner]; a != nil && !a.queue[0].lasts(now) {
			m.forget(a)
		}
	}
	switch a := m.byOwner[owner]; {
	case a != nil && len(a.queue) >= m.perTenant:
		m.forgetOne(func() *account { return m.byOwner[owner] }, now)
	case m.size >= m.most:
		m.forgetOne(func() *account { return m.largest[0] }, now)
	}
}

// forgetOne forgets a token of the account that from returns. It asks again after each token that it passes over.
func (m *memory) forgetOne(from func() *account, now time.Time) {
	for range secondChances {
		e := from().queue[0]
		if !e.lasts(now) || !e.again.Swap(false) {
			break
		}
		m.enqueue(m.dequeue(from()))
	}
	m.forget(from())
}

// forget takes the first token of a out of the memory.
func (m *memory) forget(a *account) {
	e := m.dequeue(a)
	s := m.shard(&e.sum)
	s.mu.Lock()
	if s.tokens[e.sum] == e {
		delete(s.tokens, e.sum)
	}
	s.mu.Unlock()
}

// enqueue gives e the last place of its owner's queue.
func (m *memory) enqueue(e *entry) {
	m.turn++
	m.size++
	e.turn = m.turn
	a := m.byOwner[e.owner]
	if a != nil {
		a.queue = append(a.queue, e)
		heap.Fix(&m.largest, a.index)
		return
	}
	a = &account{owner: e.owner, queue: []*entry{e}}
	m.byOwner[a.owner] = a
	heap.Push(&m.largest, a)
}

// dequeue takes the first token out of a's queue.
func (m *memory) dequeue(a *account) *entry {
	e := a.queue[0]
	m.size--
	a.queue[0] = nil // or the array would keep it
	a.queue = a.queue[1:]
	if len(a.queue) > 0 {
		heap.Fix(&m.largest, a.index)
		return e
	}
	heap.Remove(&m.largest, a.index)
	delete(m.byOwner, a.owner)
	return e
}

// len returns how many tokens are remembered, those that are good no more and not yet forgotten among them.
func (m *memory) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size
}

// accounts are a heap: the one with the most tokens is first, and of several the one whose first token has waited longest.
type accounts []*account

func (a accounts) Len() int { return len(a) }

func (a accounts) Less(i, j int) bool {
	if n := len(a[i].queue) - len(a[j].queue); n != 0 {
		return n > 0
	}
	return a[i].queue[0].turn < a[j].queue[0].turn
}

func (a accounts) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i, j
}

func (a *accounts) Push(x any) {
	added := x.(*account)
	added.index = len(*a)
	*a = append(*a, added)
}

func (a *accounts) Pop() any {
	last := len(*a) - 1
	removed := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return removed
}
