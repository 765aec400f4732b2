package main

import (
	"context"
	"fmt"
	"math"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// result is what came of a phase.
type result struct {
	name              string
	tenants, requests int
	served, units     int // according to the access logs
	refused           map[tenant.Reason]int
	failed            int   // no answer, because a replica died
	used              int64 // units, according to Redis
	doubt             doubt
	stats             replicaStats
	outage            span
	excess            float64 // over the bound, of the tenant who comes closest or exceeds it most
	plainExcess       float64 // over the bound as if Redis had not been away
	clusterExcess     float64 // over the bound of what all tenants share
	violations        []string
}

// doubt is how many units may have been charged and not served.
type doubt struct {
	calls    int            // units of decisions whose answer never came, at most
	refunds  int            // units that could not be given back
	inFlight map[string]int // units by tenant, of requests that a replica died on
}

// of is the most that may be so of one tenant.
func (d doubt) of(id string) int { return d.calls + d.refunds + d.inFlight[id] }

// all is the most that may be so of all tenants together.
func (d doubt) all() int {
	sum := d.calls + d.refunds
	for _, units := range d.inFlight {
		sum += units
	}
	return sum
}

func (r *result) violated(format string, args ...any) {
	r.violations = append(r.violations, r.name+": "+fmt.Sprintf(format, args...))
}

// judge compares what Redis says with the access logs, twice: as things are, and after the replicas ended in order.
func (p *phase) judge(ctx context.Context) (*result, error) {
	log, err := p.log()
	if err != nil {
		return nil, err
	}
	r := &result{
		name: p.name, tenants: len(p.tenants), requests: int(p.sent.Load()), refused: p.refused, failed: p.failed,
		outage: p.outage, doubt: doubt{inFlight: p.inFlight},
	}
	served := map[string]int{}
	for _, e := range log {
		if e.served() {
			r.served++
			r.units += e.Cost
			served[e.Tenant] += e.Cost
		}
	}
	if p.outage != (span{}) {
		if err := p.awaitPosted(ctx, served); err != nil {
			r.violated("%v", err)
		}
	}
	if r.stats, err = p.total(ctx); err != nil {
		return nil, err
	}
	r.doubt.calls, r.doubt.refunds = int(r.stats.InDoubt)*largestCost(math.MaxInt), int(r.stats.LostRefunds)
	p.checkAnswers(r)
	p.checkStats(r)
	p.checkRates(r, log)
	if err := p.checkUsage(ctx, r, served); err != nil {
		return nil, err
	}
	if err := p.stop(); err != nil {
		r.violated("%v", err)
	}
	return r, p.checkUsage(ctx, r, served)
}

// awaitPosted waits until Redis knows of all that was served while it was away.
func (p *phase) awaitPosted(ctx context.Context, served map[string]int) error {
	return await(ctx, "the replicas to post what they admitted alone", func() (bool, error) {
		for _, t := range p.tenants {
			used, err := p.usage(ctx, t)
			if err != nil || used["day"].Used < int64(served[t.ID]) {
				return false, err
			}
		}
		return true, nil
	})
}

// checkAnswers compares the access logs with what the clients got.
func (p *phase) checkAnswers(r *result) {
	answers := p.served + p.failed + len(p.strange)
	for _, n := range p.refused {
		answers += n
	}
	if answers != r.requests {
		r.violated("%d requests had %d answers", r.requests, answers)
	}
	for _, err := range p.strange {
		r.violated("%v", err)
	}
	if r.served < p.served || r.served > p.served+p.failed {
		r.violated("the logs have %d served requests, the clients %d, and %d without an answer", r.served, p.served, p.failed)
	}
}

// checkStats sees to it that the faults were what they were meant to be.
func (p *phase) checkStats(r *result) {
	s := r.stats
	switch {
	case p.outage == span{} && s.Alone+s.InDoubt+s.LostRefunds+s.Failures > 0:
		r.violated("Redis failed, and was not to: %+v", s)
	case p.outage == span{} && p.failed > 0:
		r.violated("%d requests had no answer", p.failed)
	case p.outage != span{} && (p.then.Alone == 0 || s.Alone > p.then.Alone):
		r.violated("%d decisions alone while Redis was away, and %d after that", p.then.Alone, s.Alone-p.then.Alone)
	}
}

// checkRates compares the access logs with what the limits let through.
func (p *phase) checkRates(r *result, log []entry) {
	by := map[string][]entry{}
	for _, e := range log {
		by[e.Tenant] = append(by[e.Tenant], e)
	}
	r.excess, r.plainExcess = math.Inf(-1), math.Inf(-1)
	for i, t := range p.tenants {
		tier := plans[i%len(plans)]
		rate := quota.Rate{PerSecond: tier.Rate, Burst: tier.Burst}
		excess := boundOf(rate, p.outage).excess(by[t.ID])
		if excess > 0 {
			r.violated("%s (%s) got %.3f units more than its rate allows", t.ID, t.Tier, excess)
		}
		r.excess = max(r.excess, excess)
		r.plainExcess = max(r.plainExcess, boundOf(rate, span{}).excess(by[t.ID]))
	}
	if r.clusterExcess = boundOf(cluster, p.outage).excess(log); r.clusterExcess > 0 {
		r.violated("all tenants together got %.3f units more than their bucket allows", r.clusterExcess)
	}
}

// checkUsage compares each tenant's usage with what it was served: never less, and more only by what is in doubt.
func (p *phase) checkUsage(ctx context.Context, r *result, served map[string]int) error {
	var over int64
	r.used = 0
	for _, t := range p.tenants {
		usage, err := p.usage(ctx, t)
		if err != nil {
			return err
		}
		day := usage["day"]
		if more, most := int(day.Used)-served[t.ID], r.doubt.of(t.ID); more < 0 || more > most {
			r.violated("%s (%s): used %d, served %d: a difference of %d, want 0 to %d",
				t.ID, t.Tier, day.Used, served[t.ID], more, most)
		}
		if month, ok := usage["month"]; ok && month.Used != day.Used {
			r.violated("%s (%s): used %d this month, %d today", t.ID, t.Tier, month.Used, day.Used)
		}
		over += max(0, day.Used-day.Limit)
		r.used += day.Used
	}
	if more, most := int(r.used)-r.units, r.doubt.all(); more < 0 || more > most {
		r.violated("used %d, served %d: a difference of %d, want 0 to %d", r.used, r.units, more, most)
	}
	if over > int64(r.stats.Overrun) {
		r.violated("daily quotas are exceeded by %d units, of which the replicas reported %d", over, r.stats.Overrun)
	}
	return nil
}
