package main

import (
	"math"
	"testing"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

func TestBound_Excess(t *testing.T) {
	t.Parallel()
	const ms = 1000
	at := func(from, to int64, cost int) entry { return entry{Cost: cost, From: from * ms, To: to * ms} }
	refused := func(e entry, why tenant.Reason) entry {
		e.Reason = why
		return e
	}
	ten := quota.Rate{PerSecond: 10, Burst: 10} // of three replicas: 3 x max(10/3, 5) = 15 by themselves
	for _, tt := range []struct {
		name   string
		outage span
		log    []entry
		want   float64
	}{
		{"nothing", span{}, nil, math.Inf(-1)},
		{"one", span{}, []entry{at(0, 100, 5)}, -6},
		{"the burst at once", span{}, []entry{at(0, 0, 5), at(0, 0, 5)}, 0},
		{"more than the burst", span{}, []entry{at(0, 0, 5), at(0, 0, 5), at(0, 0, 1)}, 1},
		{"the burst, and what came back", span{}, []entry{at(0, 0, 10), at(500, 500, 5)}, 0},
		{"more than came back", span{}, []entry{at(0, 0, 10), at(400, 400, 5)}, 1},
		{"a later interval", span{}, []entry{at(0, 0, 1), at(9000, 9000, 10), at(9100, 9100, 3)}, 2},
		{"as late as they may have been", span{}, []entry{at(0, 100, 10), at(400, 700, 5)}, -1}, // 0 s, or 0.7 s
		{"overlapping", span{}, []entry{at(0, 300, 6), at(200, 300, 6), at(100, 200, 3)}, 2},
		{"refused by a limit", span{}, []entry{at(0, 0, 10), refused(at(0, 0, 5), tenant.ReasonTenant)}, 0},
		{"a share's refusal stays paid", span{}, []entry{refused(at(0, 9, 5), tenant.ReasonShare), at(5, 5, 12)}, 2},
		{"a refund of an older charge", span{}, []entry{refused(at(0, 9, 5), tenant.ReasonCapacity), at(5, 5, 12)}, -3},
		{"a refund within", span{}, []entry{at(1, 1, 12), refused(at(1, 9, 5), tenant.ReasonCapacity)}, 2},
		{"a refund before", span{}, []entry{refused(at(0, 9, 5), tenant.ReasonCapacity), at(10, 10, 12)}, 2},
		{"before the outage", span{50 * ms, 100 * ms}, []entry{at(0, 0, 12)}, 2},
		{"after it", span{50 * ms, 100 * ms}, []entry{at(101, 101, 12)}, 2},
		{"in it", span{50 * ms, 100 * ms}, []entry{at(60, 60, 25), at(60, 60, 1)}, 1},
		{"in it, for a while", span{0, 1000 * ms}, []entry{at(500, 500, 25), at(900, 900, 10)}, 2},
		{"over its end", span{0, 600 * ms}, []entry{at(500, 500, 25), at(700, 700, 8)}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := boundOf(ten, tt.outage).excess(tt.log); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
