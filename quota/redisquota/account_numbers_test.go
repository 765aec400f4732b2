package redisquota_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
)

// An account of the right size may have numbers that none can have, wherever they stand.
func TestStore_ImpossibleNumbersConcernTheirTenantOnly(t *testing.T) {
	t.Parallel()
	client := oneServer(t)
	for _, form := range []string{"short", "full"} {
		t.Run(form, func(t *testing.T) {
			r := newReplica(t, client, redisquota.Config{Timeout: strict.Timeout}, quota.Config{})
			if form == "full" {
				r.mustAssign("acme", "free")
			}
			r.take("acme")
			key := r.store.Key("acme")
			account := []byte(client.Get(t.Context(), key).Val())
			alone := uint64(0)
			for at := 1; at+8 <= len(account); at++ {
				for _, x := range []float64{math.NaN(), math.Inf(1), -1, 1e300, 0.5} {
					value := slices.Clone(account)
					binary.LittleEndian.PutUint64(value[at:], math.Float64bits(x))
					must(t, client, "SET", key, value)
					calls := []quota.Call{{Tenant: "globex", Cost: 1}, {Tenant: "acme", Cost: 1}, {Tenant: "initech", Cost: 1}}
					if err := r.store.Take(t.Context(), quota.Rules{Tiers: r.Tiers()}, calls); err != nil {
						t.Fatal(err)
					}
					stats := r.store.Stats()
					if stats.Alone > alone+1 || stats.Failures != 0 || !stats.Shared {
						t.Fatalf("%v at %d: %+v, want one decision made alone at most, after %d, and no failure", x, at, stats, alone)
					}
					alone = stats.Alone
				}
			}
			if alone == 0 {
				t.Error("no account was found impossible")
			}
		})
	}
}
