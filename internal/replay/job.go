package replay

import (
	"github.com/tenantgate/tenantgate/internal/slots"
	"github.com/tenantgate/tenantgate/quota"
)

// job is a request on its way.
type job struct {
	slots.Request
	of, in   *tally // tenant and tier
	came     int64
	held     int64
	ends     int64
	n        uint64 // in the order of starts
	alone    int64  // the wait without the others; negative: turned away
	decision quota.Decision
	use      *use   // of the published rule
	nth      uint64 // when it came there
}

// jobs are those that run, the first to end first.
type jobs []*job

func (q jobs) Len() int      { return len(q) }
func (q jobs) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *jobs) Push(x any)   { *q = append(*q, x.(*job)) }
func (q *jobs) Pop() any {
	end := len(*q) - 1
	j := (*q)[end]
	(*q)[end] = nil
	*q = (*q)[:end]
	return j
}
func (q jobs) Less(i, j int) bool {
	if q[i].ends != q[j].ends {
		return q[i].ends < q[j].ends
	}
	return q[i].n < q[j].n
}
