package middleware_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// A handler calls a partner for its tenant, within the tenant's limits there, and answers a refusal as its gate would.
func ExampleTransport() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "a quote for %s", r.Header.Get("X-Tenant-Id"))
	}))
	defer api.Close()

	tiers := exampleTiers()
	limiter := must(quota.New(quota.Config{Tiers: tiers, Costs: quota.Costs{quota.DefaultOperation: 6}}))
	defer limiter.Close()
	calls := must(bulkhead.New(bulkhead.Config{Capacity: 10, Tiers: tiers})) // not the gate's pool
	defer calls.Close()
	client := &http.Client{Transport: &middleware.Transport{
		Quota: limiter,
		Slots: calls,
		Base:  &tenant.Transport{Hosts: []string{api.URL}}, // tells the partner whose call it is
	}}

	gate := must(middleware.New(middleware.Config{Resolver: keys}))
	defer gate.Close()
	handler := gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outbound := must(http.NewRequestWithContext(r.Context(), "GET", api.URL, nil))
		quote, err := client.Do(outbound)
		if err != nil {
			middleware.Refuse(w, r, err)
			return
		}
		defer quote.Body.Close() // or else the tenant keeps the slot
		_, _ = io.Copy(w, quote.Body)
	}))

	call(handler, "GET", "/", "k1")
	call(handler, "GET", "/", "k1")
	// Output:
	// 200  a quote for acme
	// 429  {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":429,"detail":"The rate of the plan is used up.","reason":"tenant","tier":"free","limit":"free","retry_after":1,"violated-policies":["free"]}
}
