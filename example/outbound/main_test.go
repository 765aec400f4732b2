package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/internal/sentinel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sentinel.Watch(m)) }

func Example() {
	main()
	// Output:
	// acme (free): GET /quote: 200 OK: a quote for acme
	// acme (free): POST /reports: 202 Accepted: the report is being written
	// acme (free): GET /quote: 429 Too Many Requests: reason: share
	// globex (pro): GET /quote: 200 OK: a quote for globex
	// level=INFO msg=fetched tenant.id=acme tenant.tier=free report.page=1 report.text="page 1 for acme"
	// level=INFO msg=fetched tenant.id=acme tenant.tier=free report.page=2 report.text="page 2 for acme"
	// level=WARN msg=refused tenant.id=acme tenant.tier=free report.page=3 report.reason=tenant report.wait=1m0s
}
