package jwttenant

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/tenant"
)

// modelEntry is an entry of modelMemory.
type modelEntry struct {
	sum   digest
	owner string
	v     *verified
	again bool
	turn  int
	over  bool // another of its digest came after it: it only waits for its end
}

// modelMemory is the rule of [memory], said as plainly as can be: one list, searched for everything.
type modelMemory struct {
	most, perTenant, turn int
	list                  []*modelEntry
}

// entry returns the one that stands for the digest, nil if there is none.
func (m *modelMemory) entry(sum digest) *modelEntry {
	for _, e := range m.list {
		if e.sum == sum && !e.over {
			return e
		}
	}
	return nil
}

func (m *modelMemory) find(sum digest, now time.Time) *verified {
	e := m.entry(sum)
	if e == nil || !e.v.lasts(now) {
		return nil
	}
	e.again = true
	return e.v
}

func (m *modelMemory) byTurn() []*modelEntry {
	return slices.SortedFunc(slices.Values(m.list), func(a, b *modelEntry) int { return cmp.Compare(a.turn, b.turn) })
}

// of returns owner's entries, the next to go first.
func (m *modelMemory) of(owner string) (own []*modelEntry) {
	for _, e := range m.byTurn() {
		if e.owner == owner {
			own = append(own, e)
		}
	}
	return own
}

// largest returns the entries of the owner with the most, the one whose first waited longest where there are several.
func (m *modelMemory) largest() (most []*modelEntry) {
	for _, e := range m.byTurn() {
		if own := m.of(e.owner); len(own) > len(most) {
			most = own
		}
	}
	return most
}

func (m *modelMemory) drop(e *modelEntry) {
	m.list = slices.DeleteFunc(m.list, func(x *modelEntry) bool { return x == e })
}

func (m *modelMemory) add(sum digest, v *verified, now time.Time) {
	if e := m.entry(sum); e != nil && e.v.lasts(now) {
		return
	}
	for range 2 {
		if own := m.of(v.owner()); len(own) > 0 && !own[0].v.lasts(now) {
			m.drop(own[0])
		}
	}
	if len(m.of(v.owner())) >= m.perTenant {
		m.forgetOne(func() []*modelEntry { return m.of(v.owner()) }, now)
	} else if len(m.list) >= m.most {
		m.forgetOne(m.largest, now)
	}
	m.turn++
	if e := m.entry(sum); e != nil {
		e.over = true
	}
	m.list = append(m.list, &modelEntry{sum: sum, owner: v.owner(), v: v, turn: m.turn})
}

func (m *modelMemory) forgetOne(from func() []*modelEntry, now time.Time) {
	for range secondChances {
		first := from()[0]
		if !first.again || !first.v.lasts(now) {
			break
		}
		m.turn++
		first.again, first.turn = false, m.turn
	}
	m.drop(from()[0])
}

// checkWhole fails unless everything in m fits together.
func checkWhole(t *rapid.T, m *memory) {
	inShards, inQueues := 0, 0
	for i := range m.shards {
		for sum, e := range m.shards[i].tokens {
			inShards++
			if a := m.byOwner[e.owner]; e.sum != sum || a == nil || !slices.Contains(a.queue, e) {
				t.Fatalf("a token of %s is in a shard and in no queue", e.owner)
			}
		}
	}
	for owner, a := range m.byOwner {
		inQueues += len(a.queue)
		if len(a.queue) == 0 || len(a.queue) > m.perTenant || a.owner != owner || m.largest[a.index] != a {
			t.Fatalf("the account of %s has %d tokens, want 1 to %d, or is not in its place", owner, len(a.queue), m.perTenant)
		}
		if !slices.IsSortedFunc(a.queue, func(x, y *entry) int { return cmp.Compare(x.turn, y.turn) }) {
			t.Fatalf("the queue of %s is not in order", owner)
		}
	}
	if inQueues != m.size || m.size > m.most || inShards > inQueues || len(m.largest) != len(m.byOwner) {
		t.Fatalf("size %d (at most %d), %d in queues, %d in shards, %d of %d accounts",
			m.size, m.most, inQueues, inShards, len(m.largest), len(m.byOwner))
	}
}

// TestMemory_IsTheModel takes both through the same random steps: tokens come and come again, expire, or lose their key.
func TestMemory_IsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perTenant := rapid.IntRange(1, 6).Draw(t, "perTenant")
		most := rapid.IntRange(perTenant, 12).Draw(t, "most")
		m, model := newMemory(most, perTenant), &modelMemory{most: most, perTenant: perTenant}
		now := time.Unix(1_700_000_000, 0)
		keys := []*key{{}, {}}
		for range 300 {
			owner := fmt.Sprint("t", rapid.IntRange(0, 4).Draw(t, "tenant"))
			sum := digest(sha256.Sum256(fmt.Append(nil, owner, rapid.IntRange(0, 7).Draw(t, "token"))))
			switch step := rapid.IntRange(0, 20).Draw(t, "step"); {
			case step < 10:
				v := &verified{
					key: keys[rapid.IntRange(0, 1).Draw(t, "key")], tenant: tenant.Tenant{ID: owner},
					from: now, until: now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "lifetime")) * time.Second),
				}
				m.add(&sum, v, now)
				model.add(sum, v, now)
			case step < 18:
				if got, want := m.find(&sum, now), model.find(sum, now); got != want {
					t.Fatalf("find returned %p, want %p", got, want)
				}
			case step < 20:
				now = now.Add(time.Duration(rapid.IntRange(-5, 10).Draw(t, "later")) * time.Second)
			default:
				i := rapid.IntRange(0, 1).Draw(t, "key")
				keys[i].gone.Store(true)
				keys[i] = &key{}
			}
			checkWhole(t, m)
		}
	})
}

// TestMemory_ManyTokensOfOneCostNobodyElseTheirs is why the memory is not a plain cache.
func TestMemory_ManyTokensOfOneCostNobodyElseTheirs(t *testing.T) {
	m, now := newMemory(100, 60), time.Now()
	add := func(owner string, n int) digest {
		sum := digest(sha256.Sum256(fmt.Append(nil, owner, n)))
		m.add(&sum, &verified{key: &key{}, tenant: tenant.Tenant{ID: owner}, until: now.Add(time.Hour)}, now)
		return sum
	}
	var quiet []digest
	for n := range 10 {
		quiet = append(quiet, add("quiet", n))
	}
	for n := range 10_000 {
		add("noisy", n)
		add("noisier", n)
	}
	for n, sum := range quiet {
		if m.find(&sum, now) == nil {
			t.Errorf("the quiet tenant's token %d is forgotten", n)
		}
	}
	if m.size != 100 {
		t.Errorf("%d tokens are remembered, want 100", m.size)
	}
}

// TestMemory_ManyTenantsWithATokenEachKeepTheirsInUse: the one that came last must not be the next to go.
func TestMemory_ManyTenantsWithATokenEachKeepTheirsInUse(t *testing.T) {
	m, now := newMemory(100, 50), time.Now()
	add := func(n int) digest {
		sum := digest(sha256.Sum256(fmt.Append(nil, n)))
		m.add(&sum, &verified{key: &key{}, tenant: tenant.Tenant{ID: fmt.Sprint("t", n)}, until: now.Add(time.Hour)}, now)
		return sum
	}
	var used []digest
	for n := range 50 {
		used = append(used, add(n))
	}
	for n := 50; n < 10_000; n++ {
		last := add(n)
		if m.shard(&last).tokens[last] == nil { // find would be a use
			t.Fatalf("token %d was forgotten at once", n)
		}
		for i, sum := range used {
			if m.find(&sum, now) == nil {
				t.Fatalf("token %d, in use, was forgotten when %d came", i, n)
			}
		}
	}
}
