package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// replicas is how many processes share the limits.
const replicas = 3

// plans are what tenants are on, each in turn, from the one that asks most down. All have a daily quota, because that is
// what is compared with the access logs. Trial's is used up by tenants that ask often; micro's burst is below what an
// export costs. All rates are whole numbers: see bound.
var plans = []tenant.Tier{
	{Name: "pro", Rate: 30, Burst: 60, Share: 2, Quotas: tenant.Quotas{Day: 100_000, Month: 1_000_000}},
	{Name: "trial", Rate: 20, Burst: 20, Share: 1, Quotas: tenant.Quotas{Day: 50}},
	{Name: "enterprise", Rate: 100, Burst: 150, Share: 3, Quotas: tenant.Quotas{Day: 1_000_000}},
	{Name: "free", Rate: 5, Burst: 10, Share: 1, Quotas: tenant.Quotas{Day: 1_000, Month: 10_000}},
	{Name: "micro", Rate: 2, Burst: 4, Share: 1, Quotas: tenant.Quotas{Day: 1_000}},
}

// cluster is the bucket that all tenants share.
var cluster = quota.Rate{PerSecond: 600, Burst: 400}

// routes are what can be asked for, in the order of the chances below. All are POST: net/http sends a GET again by
// itself where a connection breaks, and what was charged for the first attempt would go unnoticed.
var (
	routes = []string{"POST /orders", "POST /searches", "POST /reports", "POST /exports"}
	chance = []float64{0.5, 0.25, 0.15, 0.1}
	costs  = quota.Costs{"POST /orders": 1, "POST /searches": 2, "POST /reports": 3, "POST /exports": 5}
)

// largestCost returns the largest cost that fits a burst.
func largestCost(burst int) int {
	most := 1
	for _, cost := range costs {
		if cost <= burst {
			most = max(most, cost)
		}
	}
	return most
}

func newTiers() (*tenant.Tiers, error) { return tenant.NewTiers("free", plans...) }

// workload is what is asked of a fleet: the same for the same numbers.
type workload struct {
	seed      uint64
	tenants   int
	requests  int
	perSecond int
}

// request is one that is sent.
type request struct {
	tenant int
	route  string
}

// draw returns the requests: a few tenants ask for most.
func (w workload) draw() []request {
	random := rand.New(rand.NewPCG(w.seed, 0))
	popularity := rand.NewZipf(random, 1.2, 3, uint64(w.tenants-1))
	all := make([]request, w.requests)
	for i := range all {
		all[i].tenant = int(popularity.Uint64())
		route, at := 0, random.Float64()
		for at >= chance[route] && route < len(routes)-1 {
			at -= chance[route]
			route++
		}
		all[i].route = routes[route]
	}
	return all
}

// names returns the tenants, as their tokens name them.
func (w workload) names() []tenant.Tenant {
	since := time.Now().Truncate(time.Second)
	all := make([]tenant.Tenant, w.tenants)
	for i := range all {
		all[i] = tenant.Tenant{ID: fmt.Sprintf("tenant-%03d", i), Tier: plans[i%len(plans)].Name, TierAsOf: since}
	}
	return all
}

const (
	issuer   = "https://id.test/"
	audience = "fleet"
)

// trust is the issuer of all tokens, as the replicas know it.
func trust(secret []byte) jwttenant.Issuer {
	return jwttenant.Issuer{
		Issuer:      issuer,
		Audience:    audience,
		Algorithms:  []string{"HS256"},
		Keys:        jwttenant.HMAC(secret),
		TenantClaim: []string{"tenant_id"},
		TierClaim:   []string{"plan"},
	}
}

// mint returns a token of the tenant's.
func mint(secret []byte, t tenant.Tenant) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": issuer, "aud": audience, "tenant_id": t.ID, "plan": t.Tier,
		"iat": t.TierAsOf.Unix(), "exp": t.TierAsOf.Add(time.Hour).Unix(),
	}).SignedString(secret)
}
