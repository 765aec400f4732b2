package middleware

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenantgate/tenantgate/quota"
)

// storeDescriptions are the metrics of a store that replicas share.
type storeDescriptions struct {
	shared, changes, decisions, calls, failures, inDoubt, overrun *prometheus.Desc
}

func newStoreDescriptions(desc func(name, help string, labels ...string) *prometheus.Desc) storeDescriptions {
	return storeDescriptions{
		shared:  desc("store_shared", "1 while all decisions are shared, 0 while some are made without the store's server."),
		changes: desc("store_changes_total", "How often a server of the store went away or came back."),
		decisions: desc("store_decisions_total", "Decisions by what made them: the store's server, a lease of it, or this "+
			"process alone.", "by"),
		calls:    desc("store_calls_total", "Calls of the store's server."),
		failures: desc("store_call_failures_total", "Calls of the store's server that failed."),
		inDoubt: desc("store_in_doubt_total", "Decisions whose call got no answer: each may have been charged without "+
			"being served."),
		overrun: desc("store_overrun_units_total", "Units that were admitted beyond calendar quotas while the store's "+
			"server was away."),
	}
}

func (d *storeDescriptions) describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{d.shared, d.changes, d.decisions, d.calls, d.failures, d.inDoubt, d.overrun} {
		ch <- desc
	}
}

func (d *storeDescriptions) collect(ch chan<- prometheus.Metric, s quota.StoreStats) {
	shared := int64(0)
	if s.Shared {
		shared = 1
	}
	ch <- gauge(d.shared, shared)
	ch <- counter(d.changes, s.Changes)
	ch <- counter(d.decisions, s.Decisions-min(s.Decisions, s.Leased+s.Alone), "server")
	ch <- counter(d.decisions, s.Leased, "lease")
	ch <- counter(d.decisions, s.Alone, "alone")
	ch <- counter(d.calls, s.Calls)
	ch <- counter(d.failures, s.Failures)
	ch <- counter(d.inDoubt, s.InDoubt)
	ch <- counter(d.overrun, s.Overrun)
}
