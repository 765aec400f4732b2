package redisquota

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// postEvery is how often it is tried to count in Redis what was admitted without it.
const postEvery = 250 * time.Millisecond

// ledger has the calendar usage that Redis does not know of yet. It is counted there exactly once: a posting has a
// name, and Redis remembers the names for a day.
type ledger struct {
	store *Store
	name  string // of this process among all

	mu       sync.Mutex
	postings map[string]*posting // by tenant; still added to
	sent     []*posting          // and perhaps counted
	made     int                 // postings
	timer    *time.Timer         // nil: nothing to post
	closed   bool

	posting sync.Mutex // held while posting
}

// posting is one tenant's usage in the latest window of each kind.
type posting struct {
	id     string
	tenant string
	rules  quota.Rules
	said   tenant.Assertion // the tier that was asserted last: Redis may not know it
	charge quota.Charge
	units  [quota.Windows]int64

	inDoubt bool // it may have been counted: it stays as it is
}

func (l *ledger) init(s *Store) {
	l.store, l.name, l.postings = s, rand.Text(), map[string]*posting{}
}

// add adds units, fewer than 0 to take back, to the windows of a charge.
func (l *ledger) add(rules *quota.Rules, c *quota.Charge, said tenant.Assertion, units int64) {
	if c.Counted == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.postings[c.Tenant]
	if p == nil {
		l.made++
		p = &posting{id: l.name + "-" + strconv.Itoa(l.made), tenant: c.Tenant}
		l.postings[c.Tenant] = p
	}
	p.rules, p.said = *rules, p.said.Merge(said)
	var each [quota.Windows]int64
	for w := range each {
		each[w] = units
	}
	p.merge(c, &each)
	l.arm()
}

// arm has what there is posted soon. l is locked.
func (l *ledger) arm() {
	if l.timer == nil && !l.closed {
		l.timer = time.AfterFunc(postEvery, l.post)
	}
}

// post counts in Redis what it can.
func (l *ledger) post() {
	l.posting.Lock()
	defer l.posting.Unlock()
	l.mu.Lock()
	due := l.sent
	for id, p := range l.postings {
		due = append(due, p)
		delete(l.postings, id)
	}
	l.sent = nil
	l.mu.Unlock()

	for len(due) > 0 {
		n := l.together(due)
		failed := l.count(due[:n])
		for _, p := range failed {
			l.keep(p)
		}
		due = due[n:]
		if len(failed) == n && l.store.cluster == nil { // the others would fare no better
			for _, p := range due {
				l.keep(p)
			}
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if len(l.sent)+len(l.postings) > 0 {
		l.arm()
	}
}

// keep keeps a posting for the next time: as it is where it may have been counted, else together with what is new.
func (l *ledger) keep(p *posting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.postings[p.tenant]
	switch {
	case p.inDoubt:
		l.sent = append(l.sent, p)
	case next == nil:
		l.postings[p.tenant] = p
	default:
		next.said = p.said.Merge(next.said)
		next.merge(&p.charge, &p.units)
	}
}

// merge adds units to the windows of a charge: to the latest of each kind.
func (p *posting) merge(c *quota.Charge, units *[quota.Windows]int64) {
	for w := range quota.Window(quota.Windows) {
		if !c.Counted.Has(w) || c.Windows[w] < p.charge.Windows[w] {
			continue
		}
		if c.Windows[w] > p.charge.Windows[w] {
			p.charge.Counted |= 1 << w
			p.charge.Windows[w], p.units[w] = c.Windows[w], 0
		}
		p.units[w] += units[w]
	}
}

// together returns how many of the first postings can go with one call.
func (l *ledger) together(due []*posting) int {
	n := 1
	for l.store.cluster == nil && n < min(len(due), full/2) && sameRules(&due[n].rules, &due[0].rules) {
		n++
	}
	return n
}

// count counts postings in Redis, and looks whether a quota is exceeded for them. It returns those that were not
// counted, or perhaps not.
func (l *ledger) count(due []*posting) (failed []*posting) {
	s := l.store
	e := newEntry(&due[0].rules, 2*len(due))
	defer e.free()
	calls := make([]quota.Call, len(due))
	for i, p := range due {
		calls[i] = quota.Call{Tenant: p.tenant, Asserted: p.said, Peek: true}
		e.ops[2*i] = operation{kind: post, tenant: p.tenant, posted: p}
		e.ops[2*i+1] = callOf(&calls[i])
	}
	s.do(context.Background(), e)
	for i, p := range due {
		switch posted, looked := &e.ops[2*i], &e.ops[2*i+1]; {
		case errors.Is(posted.err, errBroken): // nor will it ever be
			s.cfg.Logger.Error("redisquota: usage could not be counted",
				"tenant", p.tenant, "units", p.units, "error", posted.err)
		case posted.err != nil:
			p.inDoubt = p.inDoubt || posted.inDoubt
			failed = append(failed, p)
		case looked.err == nil:
			l.report(p, &calls[i].Result)
		}
	}
	return failed
}

// report says where a posting exceeds a quota.
func (l *ledger) report(p *posting, found *quota.Result) {
	for w := range quota.Window(quota.Windows) {
		limit, spent := w.Limit(found.Tier.Quotas), found.Spent.Units[w]
		if over := min(spent-limit, p.units[w]); limit > 0 && over > 0 {
			l.store.counts.overrun.Add(uint64(over))
			l.store.cfg.Logger.Warn("redisquota: more was admitted while Redis was away than the quota allows",
				"tenant", p.tenant, "policy", w.String(), "limit", limit, "used", spent, "over", over)
		}
	}
}

// append describes the posting to the script.
func (p *posting) append(b []byte) []byte {
	b = append(b, count(p.charge.Counted))
	for w := range quota.Window(quota.Windows) {
		if p.charge.Counted.Has(w) {
			b = appendFloats(append(b, byte(w)+1), float64(p.charge.Windows[w]), float64(p.units[w]))
		}
	}
	return b
}

// close posts what there is, one last time.
func (l *ledger) close() error {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.post()
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := map[string]int64{} // by tenant: what is missing in its longest window
	for _, p := range slices.AppendSeq(l.sent, maps.Values(l.postings)) {
		lost[p.tenant] += slices.Max(p.units[:])
	}
	if len(lost) == 0 {
		return nil
	}
	l.store.cfg.Logger.Error("redisquota: usage was not counted", "units", lost)
	return fmt.Errorf("redisquota: usage of %d tenants that were served while Redis was away is not counted there (see the "+
		"log); close the store before its client", len(lost))
}
