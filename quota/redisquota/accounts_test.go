package redisquota_test

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// hands is a clock that a test sets.
type hands struct{ now atomic.Int64 }

// stopClock has the store go by a clock that stands still until the test sets it.
func (r *replica) stopClock(at time.Time) *hands {
	h := new(hands)
	h.set(at)
	r.store.SetClock(func() time.Time { return time.Unix(0, h.now.Load()).UTC() })
	return h
}

func (h *hands) set(at time.Time) { h.now.Store(at.UnixNano()) }

func (h *hands) advance(d time.Duration) { h.now.Add(int64(d)) }

// takeOn takes for a tenant that asserts a tier.
func (r *replica) takeOn(id, tier string, asOf time.Time) quota.Decision {
	r.t.Helper()
	d, err := r.Take(r.t.Context(), tenant.Tenant{ID: id, Tier: tier, TierAsOf: asOf}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func (r *replica) mustAssign(id, tier string) {
	r.t.Helper()
	if err := r.SetTier(r.t.Context(), id, tier); err != nil {
		r.t.Fatal(err)
	}
}

// mustExpireWithin checks that a tenant's account is kept, and how long for.
func (r *replica) mustExpireWithin(id string, least, most time.Duration) {
	r.t.Helper()
	if ttl := r.client.TTL(r.t.Context(), r.store.Key(id)).Val(); ttl < least || ttl > most {
		r.t.Errorf("%s: the key expires in %v, want between %v and %v", id, ttl, least, most)
	}
}

// An account that is kept for ever while it has an assignment is so no longer than that.
func TestStore_KeyExpiresAfterAnAssignmentIsTakenBack(t *testing.T) {
	t.Parallel()
	tiers := catalogue(t, tenant.Tier{Name: "free", Rate: 10, Burst: 10}, tenant.Tier{Name: "pro", Rate: 20, Burst: 20})
	r := newReplica(t, oneServer(t), strict, quota.Config{Tiers: tiers})
	for _, tier := range []string{"pro", ""} {
		r.mustAssign("acme", tier)
		r.take("acme")
	}
	r.mustExpireWithin("acme", time.Second, time.Minute)
}

func TestStore_KeyExpiresAfterABucketThatNeverRefills(t *testing.T) {
	t.Parallel()
	tiers := catalogue(t, tenant.Tier{Name: "trial", Rate: 0, Burst: 10}, tenant.Tier{Name: "pro", Rate: 20, Burst: 20})
	r := newReplica(t, oneServer(t), strict, quota.Config{Tiers: tiers})
	r.take("acme")
	r.takeOn("acme", "pro", time.Unix(1e9, 0))
	r.mustExpireWithin("acme", time.Second, time.Minute)
}

// How long a key is kept is by the clock as it stands, though the account is as of when that stood ahead.
func TestStore_KeyOutlivesItsDayWhereTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	client := oneServer(t)
	noon := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		assigned string // at first
		then     func(*replica)
	}{
		{"value of another form", "", func(r *replica) {
			r.takeOn("acme", "free", time.Unix(1e9, 5)) // nanoseconds are what the short form has no room for
		}},
		{"kept for ever until then", "free", func(r *replica) { r.mustAssign("acme", "") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tiers := catalogue(t, tenant.Tier{Name: "free", Rate: 10, Burst: 10, Quotas: tenant.Quotas{Day: 5}})
			r := newReplica(t, client, strict, quota.Config{Tiers: tiers})
			clock := r.stopClock(noon)
			r.mustAssign("acme", tt.assigned)
			r.take("acme")
			clock.set(noon.Add(-time.Hour))
			tt.then(r)
			r.mustExpireWithin("acme", 13*time.Hour, 14*time.Hour)
		})
	}
}

// A value that is no account fails the decisions of its own tenant: not those that are made by the same call, nor is the
// server taken for dead.
func TestStore_DamagedAccountConcernsItsTenantOnly(t *testing.T) {
	t.Parallel()
	client := oneServer(t)
	for name, damage := range map[string]func(account []byte, size int) []byte{
		"cut off":    func(account []byte, size int) []byte { return account[:size] },
		"long names": func(_ []byte, size int) []byte { return bytes.Repeat([]byte{0xff}, size) },
	} {
		for _, form := range []string{"short", "full"} {
			t.Run(name+", "+form, func(t *testing.T) {
				r := newReplica(t, client, redisquota.Config{Timeout: strict.Timeout}, quota.Config{})
				if form == "full" {
					r.mustAssign("acme", "free")
				}
				r.take("acme")
				key := r.store.Key("acme")
				account := []byte(client.Get(t.Context(), key).Val())
				rules, alone := quota.Rules{Tiers: r.Tiers()}, uint64(0)
				for size := range account {
					value := damage(account, size)
					if size > 0 {
						value[0] = account[0]
					}
					must(t, client, "SET", key, value)
					calls := []quota.Call{{Tenant: "globex", Cost: 1}, {Tenant: "acme", Cost: 1}, {Tenant: "initech", Cost: 1}}
					if err := r.store.Take(t.Context(), rules, calls); err != nil {
						t.Fatal(err)
					}
					alone++
					if stats := r.store.Stats(); stats.Alone != alone || stats.Failures != 0 || !stats.Shared {
						t.Fatalf("%d bytes of %d: %+v, want %d decisions made alone, and no failure", size, len(account), stats, alone)
					}
				}
			})
		}
	}
}

// Usage beyond what is counted exactly stays where it is; the decisions are made as before.
func TestStore_HugeUsageIsNoFailureOfTheServer(t *testing.T) {
	t.Parallel()
	const most = 999_999_999_999_999
	client := oneServer(t)
	for name, prepare := range map[string]func(*redisquota.Store){
		"plain": func(*redisquota.Store) {}, "in general": (*redisquota.Store).NotPlain,
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t, client, strict, quota.Config{
				Tiers: catalogue(t, tenant.Tier{Name: "free", Rate: most, Burst: most},
					tenant.Tier{Name: "other", Rate: 1, Burst: 1, Quotas: tenant.Quotas{Month: 1}}), // so that all are counted
				Costs: quota.Costs{"export": most},
			})
			prepare(r.store)
			clock := r.stopClock(time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC))
			for i := range 12 { // ten times it is more than 2^53
				if d := r.takeFor("acme", "export"); !d.Allowed {
					t.Fatalf("take %d: got %+v, want it allowed", i+1, d)
				}
				clock.advance(time.Second)
			}
			r.mustAssign("acme", "other") // of which usage is told
			if used := r.used("acme"); used != 1<<53 {
				t.Errorf("got %d used, want 2^53, which is as far as it is counted", used)
			}
			if stats := r.store.Stats(); stats.Failures != 0 || stats.Alone != 0 {
				t.Errorf("%+v, want no failure", stats)
			}
		})
	}
}
