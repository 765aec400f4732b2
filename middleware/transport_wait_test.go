package middleware_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantgate/tenantgate/bulkhead"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// answering is a transport in memory whose answers have a body.
func answering(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("hello"))}, nil
}

// taking is a transport in memory that takes a second for a call.
func taking(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Second)
	return answering(r)
}

func TestTransport_CallWaitsForTheBodyOfTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newBulkhead(t, bulkhead.Config{Capacity: 1})
		client := &http.Client{Transport: &middleware.Transport{Slots: pool, Base: roundTripper(answering)}}
		first, err := client.Do(outbound(t, as(t, "acme", "free"), nowhere, nil))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { first.Body.Close() })
		start := time.Now()
		fetch(t, client, outbound(t, as(t, "acme", "free"), nowhere, nil))
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("the second call took %v, want 1s", waited)
		}
	})
}

// A tenant that floods a dependency from handlers and jobs queues in its own lane.
func TestTransport_FloodOfOneTenantLeavesRoomForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newBulkhead(t, bulkhead.Config{Capacity: 4, MaxWait: -1})
		client := &http.Client{Transport: &middleware.Transport{Slots: pool, Base: roundTripper(taking)}}
		flooding := as(t, "acme", "free") // share 2
		start := time.Now()
		var flood sync.WaitGroup
		for i := range 20 {
			ctx := flooding
			if i%2 == 0 {
				ctx = tenant.Detach(flooding)
			}
			flood.Go(func() { fetch(t, client, outbound(t, ctx, nowhere, nil)) })
		}
		synctest.Wait()
		fetch(t, client, outbound(t, as(t, "globex", "free"), nowhere, nil))
		if took := time.Since(start); took != time.Second {
			t.Errorf("the quiet tenant's call took %v, want 1s", took)
		}
		flood.Wait()
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("20 calls of a second on a share of 2 took %v, want 10s", took)
		}
	})
}

func TestTransport_CallThatGetsNoSlotHasItsCostBackAsARequestHas(t *testing.T) {
	for _, c := range []struct {
		name        string
		err         error
		tokens, day int64 // left of 5 and 10
	}{
		{"capacity", &tenant.Refusal{Reason: tenant.ReasonCapacity}, 5, 10},
		{"closing", &tenant.Refusal{Reason: tenant.ReasonClosing}, 5, 10},
		{"share", &tenant.Refusal{Reason: tenant.ReasonShare}, 4, 10},
		{"deadline", context.DeadlineExceeded, 5, 10},
		{"any other", errBroken, 5, 10},
		{"cancelled, but the caller is there", context.Canceled, 5, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := newLimiter(t, quota.Config{})
				transport := &middleware.Transport{Quota: limiter, Slots: refusing(c.err)}
				if _, err := transport.RoundTrip(outbound(t, as(t, "acme", "daily"), nowhere, nil)); err != c.err {
					t.Errorf("got error %v, want %v", err, c.err)
				}
				d := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "daily"})
				if int64(d.Remaining) != c.tokens || d.QuotaRemaining != c.day {
					t.Errorf("left %d and %d a day, want %d and %d", d.Remaining, d.QuotaRemaining, c.tokens, c.day)
				}
			})
		})
	}
}

func TestTransport_CallerThatLeavesOrIsOutOfTime(t *testing.T) {
	for _, c := range []struct {
		name    string
		end     func(context.Context) (context.Context, context.CancelFunc) // after a second
		want    error
		refused bool
		day     int64 // left of 10
	}{
		{"leaves, and pays", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, leave := context.WithCancel(ctx)
			time.AfterFunc(time.Second, leave)
			return ctx, leave
		}, context.Canceled, false, 9},
		{"its deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, context.DeadlineExceeded, true, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := newLimiter(t, quota.Config{Store: impatientStore{quota.NewMemory(nil)}})
				pool := newBulkhead(t, bulkhead.Config{Capacity: 1})
				release, err := pool.Acquire(t.Context(), tenant.Tenant{ID: "other"})
				if err != nil {
					t.Fatal(err)
				}
				defer release()
				client := &http.Client{Transport: &middleware.Transport{Quota: limiter, Slots: pool, Base: roundTripper(answering)}}
				ctx, end := c.end(as(t, "acme", "daily"))
				defer end()
				start := time.Now()
				_, err = client.Do(outbound(t, ctx, nowhere, nil))
				if took := time.Since(start); took != time.Second || !errors.Is(err, c.want) {
					t.Errorf("after %v: %v, want %v after 1s", took, err, c.want)
				}
				if _, refused := errors.AsType[*tenant.Refusal](err); refused != c.refused {
					t.Errorf("%v is a refusal: %t, want %t", err, refused, c.refused)
				}
				if d := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "daily"}); d.QuotaRemaining != c.day {
					t.Errorf("%d left of the day, want %d", d.QuotaRemaining, c.day)
				}
				if waiting := pool.Stats().Waiting; waiting != 0 {
					t.Errorf("%d still wait", waiting)
				}
			})
		})
	}
}

func TestTransport_FailedRefundIsTold(t *testing.T) {
	refusal := &tenant.Refusal{Reason: tenant.ReasonCapacity}
	transport := &middleware.Transport{
		Quota: newLimiter(t, quota.Config{Store: stingyStore{quota.NewMemory(nil)}}), Slots: refusing(refusal),
	}
	_, err := transport.RoundTrip(outbound(t, as(t, "acme", "free"), nowhere, nil))
	if got, ok := errors.AsType[*tenant.Refusal](err); !ok || got != refusal || !errors.Is(err, errBroken) {
		t.Errorf("got error %v, want the refusal and what the store said", err)
	}
}

func TestTransport_CallThatBaseFailsStaysCharged(t *testing.T) {
	limiter := newLimiter(t, quota.Config{})
	transport := &middleware.Transport{Quota: limiter, Base: roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, errBroken
	})}
	if _, err := transport.RoundTrip(outbound(t, as(t, "acme", "once"), nowhere, nil)); err != errBroken {
		t.Errorf("got error %v, want that of Base", err)
	}
	if got := remaining(t, limiter, tenant.Tenant{ID: "acme", Tier: "once"}).Remaining; got != 2 {
		t.Errorf("%d left of 3, want 2", got)
	}
}
