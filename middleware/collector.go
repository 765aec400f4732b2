package middleware

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// descriptions are the metrics of one gate. Those by tenant have the totals' names with tenant_ in front.
type descriptions struct {
	tenantRequests, tenantInFlight, tenantQueued, tenantStreams, tenantWait, tenantShare *prometheus.Desc
	requests, inFlight, queued, streams, wait, share, capacity                           *prometheus.Desc
	unknownTiers, tierFailures, refundFailures                                           *prometheus.Desc
	resolver                                                                             resolverDescriptions
	store                                                                                storeDescriptions
}

func newDescriptions(gate string) *descriptions {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("tenantgate_"+name, help, labels, prometheus.Labels{"gate": gate})
	}
	return &descriptions{
		tenantRequests: desc("tenant_requests_total", "Requests that are done, by tenant.",
			"tenant", "tier", "outcome", "reason"),
		tenantInFlight: desc("tenant_in_flight_requests", "Requests that hold a slot, by tenant.", "tenant"),
		tenantQueued:   desc("tenant_queued_requests", "Requests that wait for a slot, by tenant.", "tenant"),
		tenantStreams:  desc("tenant_streams", "Requests that run without a slot, as streams, by tenant.", "tenant"),
		tenantWait: desc("tenant_slot_wait_seconds", "Time that requests waited for a slot, in vain or not, by tenant.",
			"tenant"),
		tenantShare: desc("tenant_share_slots", "Slots that a tenant seen lately is sure of.", "tenant"),

		requests: desc("requests_total", "Requests that are done.", "tier", "outcome", "reason"),
		inFlight: desc("in_flight_requests", "Requests that hold a slot; without slots, that run."),
		queued:   desc("queued_requests", "Requests that wait for a slot."),
		streams:  desc("streams", "Requests that run without a slot, as streams."),
		wait:     desc("slot_wait_seconds", "Time that requests waited for a slot, in vain or not."),
		share:    desc("share_slots", "Slots that the tenants seen lately are sure of, together."),
		capacity: desc("capacity_slots", "Slots that there are."),

		unknownTiers:   desc("unknown_tiers_total", "Requests with a tier asserted that is not configured."),
		tierFailures:   desc("tier_lookup_failures_total", "Failed calls of TierOf."),
		refundFailures: desc("refund_failures_total", "Refunds that failed, so that their units are lost to the tenant."),

		resolver: newResolverDescriptions(desc),
		store:    newStoreDescriptions(desc),
	}
}

// Describe implements [prometheus.Collector].
func (g *Gate) Describe(ch chan<- *prometheus.Desc) {
	d := g.metrics.desc
	for _, desc := range []*prometheus.Desc{
		d.tenantRequests, d.tenantInFlight, d.tenantQueued, d.tenantStreams, d.tenantWait, d.tenantShare,
		d.requests, d.inFlight, d.queued, d.streams, d.wait, d.share, d.capacity,
		d.unknownTiers, d.tierFailures, d.refundFailures,
	} {
		ch <- desc
	}
	d.resolver.describe(ch)
	d.store.describe(ch)
}

// Collect implements [prometheus.Collector]. Requests go on meanwhile: numbers of one scrape may be a few requests apart,
// except that the totals are the sums of what the tenants have.
func (g *Gate) Collect(ch chan<- prometheus.Metric) {
	m, d := g.metrics, g.metrics.desc
	var sum reading
	m.roster.each(func(id string, t *tally) {
		got := t.read()
		sum.add(&got)
		got.requests.collect(ch, d.tenantRequests, id)
		ch <- gauge(d.tenantInFlight, got.inFlight, id)
		ch <- gauge(d.tenantStreams, got.streams, id)
		if g.cfg.Slots != nil {
			ch <- gauge(d.tenantQueued, got.queued, id)
			ch <- got.waits.metric(d.tenantWait, id)
		}
	})
	nobody := m.nobody.read()
	sum.add(&nobody)
	sum.requests.collect(ch, d.requests)
	ch <- gauge(d.inFlight, sum.inFlight)
	ch <- gauge(d.streams, sum.streams)
	if g.cfg.Slots != nil {
		ch <- gauge(d.queued, sum.queued)
		ch <- sum.waits.metric(d.wait)
		g.collectSlots(ch)
	}
	ch <- counter(d.unknownTiers, m.unknownTiers.Load())
	ch <- counter(d.tierFailures, m.tierFailures.Load())
	ch <- counter(d.refundFailures, m.refundFailures.Load())
	d.resolver.collect(ch, g.cfg.Resolver)
	if g.cfg.Quota != nil {
		if stats, ok := g.cfg.Quota.StoreStats(); ok {
			d.store.collect(ch, stats)
		}
	}
}

// collectSlots collects what the pool knows: shares, and the capacity.
func (g *Gate) collectSlots(ch chan<- prometheus.Metric) {
	d, stats := g.metrics.desc, g.cfg.Slots.Stats()
	var all, rest int64
	for i := range stats.Tenants {
		t := &stats.Tenants[i]
		all += int64(t.Share)
		if g.metrics.roster.has(t.ID) {
			ch <- gauge(d.tenantShare, int64(t.Share), t.ID)
		} else {
			rest += int64(t.Share)
		}
	}
	ch <- gauge(d.tenantShare, rest, others)
	ch <- gauge(d.share, all)
	ch <- gauge(d.capacity, int64(stats.Capacity))
}

func counter(desc *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
}

func gauge(desc *prometheus.Desc, n int64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
}

// reading is what a tally has at one time, or the sum of several.
type reading struct {
	requests                  requestCounts
	inFlight, queued, streams int64
	waits                     waitCounts
}

func (t *tally) read() reading {
	got := reading{
		requests: requestCounts{}, inFlight: t.inFlight.Load(), queued: t.queued.Load(), streams: t.streams.Load(),
	}
	for _, tt := range t.all() {
		counts := new([len(kinds)]uint64)
		for i := range counts {
			counts[i] = tt.requests[i].Load()
		}
		got.requests[tt.tier] = counts
	}
	for i := range got.waits.buckets {
		got.waits.buckets[i] = t.waits.buckets[i].Load()
	}
	got.waits.total = time.Duration(t.waits.nanos.Load())
	return got
}

func (rd *reading) add(more *reading) {
	if rd.requests == nil {
		rd.requests = requestCounts{}
	}
	for tier, counts := range more.requests {
		if rd.requests[tier] == nil {
			rd.requests[tier] = new([len(kinds)]uint64)
		}
		for i, n := range counts {
			rd.requests[tier][i] += n
		}
	}
	rd.inFlight += more.inFlight
	rd.queued += more.queued
	rd.streams += more.streams
	for i, n := range more.waits.buckets {
		rd.waits.buckets[i] += n
	}
	rd.waits.total += more.waits.total
}

// requestCounts are counts of each kind of request, by tier.
type requestCounts map[string]*[len(kinds)]uint64

// collect sends what is not zero, and always what was admitted, so that a rate over it has a beginning.
func (rc requestCounts) collect(ch chan<- prometheus.Metric, desc *prometheus.Desc, labels ...string) {
	for tier, counts := range rc {
		for i, n := range counts {
			if n > 0 || tier != "" && kinds[i].outcome == Admitted {
				ch <- counter(desc, n, append(labels[:len(labels):len(labels)], tier, string(kinds[i].outcome), kinds[i].reason)...)
			}
		}
	}
}

// waitCounts is a reading of a histogram.
type waitCounts struct {
	buckets [len(waitBuckets) + 1]uint64
	total   time.Duration
}

func (w *waitCounts) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	upTo := make(map[float64]uint64, len(waitBuckets))
	count := uint64(0)
	for i, n := range w.buckets {
		count += n
		if i < len(waitBuckets) {
			upTo[waitBuckets[i].Seconds()] = count
		}
	}
	return prometheus.MustNewConstHistogram(desc, count, w.total.Seconds(), upTo, labels...)
}
