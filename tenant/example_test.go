package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/tenantgate/tenantgate/tenant"
)

func ExampleNewTiers() {
	tiers, err := tenant.NewTiers("free", // the tier of a tenant whose plan is unset or unknown
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Share: 2, Quotas: tenant.Quotas{Day: 10_000}},
		tenant.Tier{Name: "pro", Rate: 20, Burst: 60, Share: 6},
		tenant.Tier{Name: "enterprise", Rate: 100, Burst: 300, Share: 20, Ceiling: 40},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	acme := tenant.Tenant{ID: "acme", Tier: "pro"}
	fmt.Println(tiers.For(acme).Rate, tiers.For(tenant.Tenant{ID: "guess", Tier: "platinum"}).Rate)

	if err := tiers.Assign("acme", "enterprise"); err != nil { // whatever its tokens say
		fmt.Println(err)
	}
	fmt.Println(tiers.For(acme).Rate)
	// Output:
	// 20 2
	// 100
}

// The error names every fault of every tier.
func ExampleNewTiers_faults() {
	_, err := tenant.NewTiers("basic",
		tenant.Tier{Name: "free", Rate: -2, Burst: 10},
		tenant.Tier{Name: "pro", Share: 6, Ceiling: 3},
	)
	fmt.Println(err)
	// Output:
	// tenant: tier "free": Rate is -2, want a finite number of 0 or more
	// tenant: tier "pro": Ceiling is 3, want 0 or at least the Share of 6
	// tenant: the default tier "basic" is none of the tiers
}

func ExampleLogHandler() {
	h := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	log := slog.New(tenant.LogHandler(h))

	ctx := tenant.NewContext(context.Background(), tenant.Tenant{ID: "acme", Tier: "pro"})
	log.InfoContext(ctx, "stored", "order", 7)
	log.WithGroup("http").InfoContext(ctx, "served", "status", 200)
	log.InfoContext(context.Background(), "started")
	// Output:
	// level=INFO msg=stored tenant.id=acme tenant.tier=pro order=7
	// level=INFO msg=served tenant.id=acme tenant.tier=pro http.status=200
	// level=INFO msg=started
}

func ExampleTransport() {
	show := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("%s of tenant %q\n", r.URL.Path, r.Header.Get("X-Tenant-Id"))
	})
	billing, thirdParty := httptest.NewServer(show), httptest.NewServer(show)
	defer billing.Close()
	defer thirdParty.Close()

	client := &http.Client{Transport: &tenant.Transport{Hosts: []string{billing.URL}}}
	ctx := tenant.NewContext(context.Background(), tenant.Tenant{ID: "acme"})
	for _, url := range []string{billing.URL + "/invoices", thirdParty.URL + "/webhook"} {
		r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := client.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}
	// Output:
	// /invoices of tenant "acme"
	// /webhook of tenant ""
}

// session resolves the tenant from a cookie.
type session map[string]tenant.Tenant

func (s session) Resolve(r *http.Request) (tenant.Tenant, error) {
	c, err := r.Cookie("session")
	if err != nil {
		return tenant.Tenant{}, tenant.ErrNoCredential
	}
	t, ok := s[c.Value]
	if !ok {
		return tenant.Tenant{}, tenant.ErrInvalid
	}
	return t, nil
}

// everybody resolves every request to one demo tenant.
type everybody struct{}

func (everybody) Resolve(*http.Request) (tenant.Tenant, error) { return tenant.Tenant{ID: "demo"}, nil }

func ExampleFirst() {
	resolver := tenant.First(session{"s3cret": {ID: "acme", Tier: "pro"}}, everybody{})

	for _, cookie := range []string{"session=s3cret", "", "session=forged"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Cookie", cookie)
		t, err := resolver.Resolve(r)
		fmt.Printf("%q: %v, invalid: %t\n", cookie, t, errors.Is(err, tenant.ErrInvalid))
	}
	// Output:
	// "session=s3cret": acme (pro), invalid: false
	// "": demo, invalid: false
	// "session=forged": , invalid: true
}

func ExampleDetach() {
	request, cancel := context.WithCancel(context.Background())
	request = tenant.NewContext(request, tenant.Tenant{ID: "acme", Tier: "pro"})

	job := tenant.Detach(request)
	cancel() // the client has its answer

	t, _ := tenant.FromContext(job)
	fmt.Println(t, request.Err(), job.Err())
	// Output: acme (pro) context canceled <nil>
}
