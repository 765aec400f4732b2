package redisquota

import (
	"math"
	"slices"

	"github.com/tenantgate/tenantgate/quota"
)

// Key returns the name of the key that has a tenant's account.
func (s *Store) Key(id string) string { return s.key(id) }

// Prefix returns how every key begins.
func (s *Store) Prefix() string { return s.cfg.Prefix }

// Unposted returns how many postings of usage are not counted in Redis yet.
func (s *Store) Unposted() int {
	l := &s.local.journal
	l.posting.Lock() // not while some is on the way
	defer l.posting.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.postings) + len(l.sent)
}

// HoldPostings keeps usage from being posted until the function that it returns is called.
func (s *Store) HoldPostings() func() {
	s.local.journal.posting.Lock()
	return s.local.journal.posting.Unlock
}

// Post tries to post usage, as a timer does.
func (s *Store) Post() { s.local.journal.post() }

// ReadReply reads a reply to a request for the calls, of a server that has the bucket that all tenants share. It returns
// what is wrong with each call, which tier each misses, and whether none of it can be believed.
func ReadReply(rules quota.Rules, calls []quota.Call, reply string) (errs []error, missing []string, err error) {
	s := &Store{clock: func() float64 { return 0 }}
	var r request
	r.init(s, &rules)
	r.mode = clusterHere
	ops := make([]operation, len(calls))
	for i := range calls {
		ops[i] = operation{kind: take, tenant: calls[i].Tenant, call: &calls[i]}
		if calls[i].Peek {
			ops[i].kind = look
		}
		r.add(&ops[i])
	}
	err = r.read(reply)
	for i := range ops {
		errs, missing = append(errs, ops[i].err), append(missing, ops[i].missing)
	}
	return errs, missing, err
}

// SampleReplies returns replies that are well formed, to calls that are allowed, refused by each limit, or not decided;
// and some that are not: usage beyond all numbers, and a missing tier without a name.
func SampleReplies() []string {
	head := appendFloats(nil, 1.7e15, 500, 0, 0, 500, 0)
	found := func(short byte, spent float64) string {
		b := slices.Clone(head)
		for range 3 {
			b = appendFloats(append(b, decided, short, 0, 0, 0), 50, 1000, spent)
		}
		return string(b)
	}
	var all []string
	for _, short := range []byte{0, shortTenant, 16, shortGlobal, shortPlan} {
		all = append(all, found(short, 3))
	}
	missing := "\x01\x03pro"
	return append(all,
		string(head)+missing+"\x02\x02\x00no"+missing,
		string(head)+missing+"\x01\x00"+missing,
		found(0, math.Inf(1)),
		found(0, -1),
	)
}
