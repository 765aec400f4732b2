package replay

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// Run replays a trace. It is not safe for concurrent use; several may share a catalogue.
type Run struct {
	cfg     Config
	pool    pool
	limiter *quota.Limiter
	clock   atomic.Int64 // the limiter's, which sweeps in a goroutine of its own

	now     int64
	came    int64 // the last arrival
	running jobs
	waiting int
	started uint64
	free    []*job

	busy, idle int64
	all        tally
	tiers      map[string]*tally
	tenants    map[string]*tally
	width      int64
}

// New returns a run that has seen nothing yet. The error names every wrong setting. [Run.Finish] or [Run.Close] ends it.
func New(cfg Config) (*Run, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	r := &Run{cfg: cfg, width: firstWidth, tiers: map[string]*tally{}, tenants: map[string]*tally{}}
	var err error
	if r.pool, err = cfg.newPool(); err != nil {
		return nil, err
	}
	limiter, err := quota.New(quota.Config{
		Tiers: cfg.Tiers, Costs: cfg.Costs, Global: cfg.Global,
		Now: func() time.Time { return midnight.Add(time.Duration(r.clock.Load())) },
	})
	if err != nil {
		return nil, err
	}
	r.limiter = limiter
	return r, nil
}

// check returns what is wrong with a request, apart from when it comes.
func (q *Request) check() error {
	if err := tenant.CheckID(q.Tenant); err != nil {
		return err
	}
	if q.Duration < 0 || q.Duration > latest {
		return fmt.Errorf("replay: Duration is %v, want 0 to %v", q.Duration, latest)
	}
	return nil
}

// Add replays the next request of the trace. An error says that it was left out, and why: its tenant has no valid ID, its
// tier is not in the catalogue, it comes before the last one, or a time is out of bounds.
func (r *Run) Add(q Request) error {
	if err := q.check(); err != nil {
		return err
	}
	if q.At < time.Duration(r.came) || q.At > latest {
		return fmt.Errorf("replay: At is %v, want %v to %v", q.At, time.Duration(r.came), latest)
	}
	if _, ok := r.cfg.Tiers.Lookup(q.Tier); !ok && q.Tier != "" {
		return fmt.Errorf("replay: there is no tier %.140q", q.Tier)
	}
	r.came = int64(q.At)
	r.advance(r.came)
	r.move(r.came)
	j := r.newJob(&q)
	if r.judge(j, &q) {
		r.enter(j)
	} else {
		r.recycle(j)
	}
	return nil
}

// judge lets the limiter decide about j, and works out what would become of it without the others.
func (r *Run) judge(j *job, q *Request) (allowed bool) {
	var err error
	t := tenant.Tenant{ID: q.Tenant, Tier: q.Tier}
	r.clock.Store(r.now)
	if j.decision, err = r.limiter.Take(context.Background(), t, q.Operation); err != nil {
		panic(err) // the ID is valid, and the context goes on
	}
	d := &j.decision
	r.file(j, q.Tenant, d.Tier)
	j.alone = -1
	if d.Allowed || d.Reason == tenant.ReasonGlobal {
		wait, ok := j.of.alones.arrive(r.now, j.held, r.cfg.alone(r.cfg.Tiers.Named(d.Tier)))
		if ok {
			j.alone = wait
		}
	}
	for _, of := range r.groups(j) {
		of.requests++
		if j.alone >= 0 {
			of.alone.add(j.alone)
		}
		if !d.Allowed {
			of.refuse(j, d.Reason)
		}
	}
	return d.Allowed
}

// file says to which groups j belongs.
func (r *Run) file(j *job, id, tier string) {
	j.of, j.in = group(r.tenants, id), group(r.tiers, tier)
	if j.of.tenants == 0 {
		j.of.tenants = 1
		r.all.tenants++
	}
	if j.of.tier != tier {
		j.of.tier = tier
		j.in.tenants++
	}
}

// groups are the tallies that count j.
func (r *Run) groups(j *job) [3]*tally { return [...]*tally{j.of, j.in, &r.all} }

func group(groups map[string]*tally, name string) *tally {
	t := groups[name]
	if t == nil {
		t = &tally{name: name}
		groups[name] = t
	}
	return t
}

// enter takes a job to the slots.
func (r *Run) enter(j *job) {
	r.pool.enter(r.now, j)
	if j.State == slots.Waiting {
		r.waiting++
	} else {
		r.settle(j)
	}
	r.settleOthers()
}

func (r *Run) settleOthers() {
	r.pool.decided(func(j *job) {
		r.waiting--
		r.settle(j)
	})
}

// settle notes what was decided about j.
func (r *Run) settle(j *job) {
	if j.State == slots.Refused {
		for _, of := range r.groups(j) {
			of.refuse(j, j.Reason)
		}
		r.refund(j)
		r.recycle(j)
		return
	}
	wait := r.now - j.came
	j.ends = r.now + j.held
	for _, of := range r.groups(j) {
		of.serve(j, wait)
	}
	for j.ends/r.width >= int64(r.cfg.Steps) {
		r.width *= 2
		for _, of := range r.tenants {
			of.track.halve()
		}
	}
	j.of.track.add(j.came, wait, j.ends, r.width)
	r.started++
	j.n = r.started
	heap.Push(&r.running, j)
}

// refund gives back what the limiter took for a job that the slots turned away, as the middleware does: all of it where
// that is not the tenant's doing, else what counts against its calendar quotas.
func (r *Run) refund(j *job) {
	r.clock.Store(r.now)
	back := r.limiter.Refund
	if j.Reason == tenant.ReasonShare {
		back = r.limiter.RefundQuotas
	}
	if err := back(context.Background(), &j.decision); err != nil {
		panic(err) // memory does not fail
	}
}

// advance goes on to the given time, and does all that is due until then.
func (r *Run) advance(to int64) {
	for {
		at := r.pool.next()
		ends := len(r.running) > 0 && r.running[0].ends <= at
		if ends {
			at = r.running[0].ends
		}
		if at > to || at == slots.Never {
			return
		}
		r.move(at)
		if ends {
			j := heap.Pop(&r.running).(*job)
			r.pool.leave(r.now, j)
			r.recycle(j)
		} else {
			r.pool.tick(r.now)
		}
		r.settleOthers()
	}
}

// move lets the time pass until the given one, in which nothing happens.
func (r *Run) move(at int64) {
	passed := max(at-r.now, 0)
	r.busy += passed * int64(len(r.running))
	if r.waiting > 0 {
		r.idle += passed * int64(r.cfg.Capacity-len(r.running))
	}
	r.now = max(r.now, at)
}

func (r *Run) newJob(q *Request) *job {
	var j *job
	if n := len(r.free); n > 0 {
		j, r.free = r.free[n-1], r.free[:n-1]
	} else {
		j = new(job)
	}
	j.came, j.held = r.now, int64(q.Duration)
	return j
}

func (r *Run) recycle(j *job) { r.free = append(r.free, j) }

// Close lets go of a run that is not to be finished.
func (r *Run) Close() { r.limiter.Close() }

// Finish lets what runs and waits come to its end, and returns the report.
func (r *Run) Finish() *Report {
	defer r.Close()
	for len(r.running) > 0 || r.waiting > 0 {
		at := r.pool.next()
		if len(r.running) > 0 {
			at = min(at, r.running[0].ends)
		}
		r.advance(at)
	}
	report := &Report{
		Policy: r.cfg.Policy.String(), Capacity: r.cfg.Capacity, Span: time.Duration(r.now),
		Busy: time.Duration(r.busy), IdleWhileWaiting: time.Duration(r.idle), All: r.all.report(),
		Series: r.series(),
	}
	for _, t := range sorted(r.tiers) {
		report.Tiers = append(report.Tiers, t.report())
	}
	for _, t := range sorted(r.tenants) {
		report.Tenants = append(report.Tenants, t.report())
	}
	slices.SortFunc(report.Tenants, worstFirst)
	report.Tenants = slices.Clip(report.Tenants[:min(r.cfg.Top, len(report.Tenants))])
	return report
}
