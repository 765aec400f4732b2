package tenant_test

import (
	"net/http"
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

func TestAPIKeys_GoodKeyAllocatesNothing(t *testing.T) {
	key, h := tenant.GenerateAPIKey("acme_live_")
	keys := newAPIKeys(t, tenant.APIKeysConfig{Keys: map[hash]tenant.Tenant{h: acme}})
	r := &http.Request{Header: http.Header{"X-Api-Key": {key}}}
	if allocs := testing.AllocsPerRun(100, func() { keys.Resolve(r) }); allocs > 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

func BenchmarkAPIKeys(b *testing.B) {
	const tenants = 10_000
	cfg := tenant.APIKeysConfig{Prefix: "acme_live_", Keys: map[hash]tenant.Tenant{}}
	requests := map[string][]*http.Request{"unknown key": nil, "hot key": nil, "many keys": nil}
	add := func(name, key string) {
		requests[name] = append(requests[name], &http.Request{Header: http.Header{"X-Api-Key": {key}}})
	}
	for i := range tenants {
		key, h := tenant.GenerateAPIKey(cfg.Prefix)
		cfg.Keys[h] = acme
		add("many keys", key)
		if i == 0 {
			add("hot key", key)
		}
	}
	unknown, _ := tenant.GenerateAPIKey(cfg.Prefix)
	add("unknown key", unknown)
	keys := newAPIKeys(b, cfg)
	for name, of := range requests {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				keys.Resolve(of[i%len(of)])
			}
		})
		b.Run(name+" parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					keys.Resolve(of[i%len(of)])
				}
			})
		})
	}
}

func BenchmarkSubdomain(b *testing.B) {
	resolver := tenant.Subdomain("example.com", as(acme))
	for _, host := range []string{"acme.example.com", "ACME.example.com:443", "other.example.com"} {
		r := &http.Request{Host: host}
		b.Run(host, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resolver.Resolve(r)
			}
		})
	}
}
