package jwttenant

import (
	"encoding/binary"
	"sync/atomic"
	"time"
)

// refusals remember tokens that were refused after their signature was looked at, so that the same one again costs no
// second look. They have nothing in common with the memory of good tokens: whoever fills them makes room for nobody's but
// other refusals. Each digest has one place, and the last one to come takes it.
type refusals [1024]atomic.Pointer[refusal]

// briefly is how long a refusal is remembered.
const briefly = 10 * time.Second

type refusal struct {
	sum   digest
	key   *key // by which it was judged
	err   error
	until time.Time
}

func (r *refusals) place(sum *digest) *atomic.Pointer[refusal] {
	return &r[binary.LittleEndian.Uint64(sum[:])%uint64(len(r))]
}

// find returns why a token was refused; nil: that is not remembered, or may be different at the time now.
func (r *refusals) find(sum *digest, now time.Time) error {
	known := r.place(sum).Load()
	if known == nil || known.sum != *sum || !now.Before(known.until) || known.key.gone.Load() {
		return nil
	}
	return known.err
}

// add remembers that a token was refused for err at the time now, when it was to be k's.
func (r *refusals) add(sum *digest, k *key, err error, now time.Time) {
	r.place(sum).Store(&refusal{sum: *sum, key: k, err: err, until: now.Add(briefly)})
}
