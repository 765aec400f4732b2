package redisquota

import (
	"sync"

	"github.com/tenantgate/tenantgate/quota"
)

// entry is what one caller asks for and waits for: some operations, under the rules of one limiter.
type entry struct {
	rules quota.Rules
	ops   []operation
	wake  chan bool // true: make the call yourself; false: it was made
}

// fail says of every operation why it was not done.
func (e *entry) fail(err error) {
	for i := range e.ops {
		e.ops[i].fail(err, false)
	}
}

var entries = sync.Pool{New: func() any { return &entry{wake: make(chan bool, 1)} }}

// newEntry returns an entry for n operations.
func newEntry(rules *quota.Rules, n int) *entry {
	e := entries.Get().(*entry)
	e.rules = *rules
	if cap(e.ops) < n {
		e.ops = make([]operation, n)
	}
	e.ops = e.ops[:n]
	return e
}

func (e *entry) free() {
	clear(e.ops)
	e.rules = quota.Rules{}
	entries.Put(e)
}

// callOf returns the operation that decides a call.
func callOf(c *quota.Call) operation {
	op := operation{kind: take, tenant: c.Tenant, call: c, said: c.Asserted}
	if c.Peek {
		op.kind = look
	}
	return op
}
