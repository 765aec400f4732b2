package middleware

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// ErrNoTenant is what [Transport] returns for a call whose context carries no tenant.
var ErrNoTenant = errors.New("middleware: no tenant in the context of the outbound call")

// Transport is an [http.RoundTripper] that limits calls to a fragile dependency by the tenant in the context of each:
// first quota takes what the call costs, then the call waits for one of the tenant's slots. So one tenant cannot use up
// what the dependency allows the service as a whole, neither from handlers nor from jobs on a context of
// [tenant.Detach]. What a tenant may do, the catalogues of Quota and Slots say; they need not be the gate's.
//
// A call without a tenant fails with [ErrNoTenant], and one that is refused with a *[tenant.Refusal], which [errors.As]
// finds in the error of an [http.Client] and which [Refuse] answers. Neither is sent.
//
// The slot is held until the response's body is closed or was read to its end, or the call has failed or its context
// has ended. A response without a body gives it back at once, one that switched protocols (101) only when its body is
// closed. So who forgets to close a body keeps the slot until the context ends, which that of a job may never do.
//
// Each request that the Transport sees is a call with a cost and a slot of its own: each hop of a redirect, before which
// an http.Client closes the last response, and each try of a RoundTripper outside that tries again. One that tries again
// inside, as Base, has all tries on one cost and one slot.
//
// A call that gets no slot has its cost back as a request of a [Gate] has: all of it; after a refusal for
// tenant.ReasonShare only what counts against calendar quotas; nothing where the caller gave up. Where that fails, the
// error matches both causes. A call that Base fails stays charged: nobody knows how far it got.
//
// Slots must be a pool of the Transport's own. A request that holds a slot of a gate's pool and calls through a
// Transport with the same pool waits for itself when that is full. Quota may be the gate's limiter: then calls and
// requests count together. To tell the dependency whose call it is, make a [tenant.Transport] the Base; one outside
// works too, but prepares calls that are then refused.
//
// The zero Transport refuses what has no tenant, and limits nothing. A Transport may be used concurrently; its fields
// must not change once it is in use. It closes neither limiter nor pool.
type Transport struct {
	// Quota decides how often. Nil: no quota.
	Quota *quota.Limiter
	// Slots decides how many calls at once. Nil: no slots.
	Slots Slots
	// Base sends the calls. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Operation names what a call asks for, to look up its cost. It is called concurrently, and must leave the body
	// alone. Nil: everything is [quota.DefaultOperation].
	Operation func(*http.Request) string
}

// RoundTrip sends r through Base once the tenant's limits allow it. Its own errors are [ErrNoTenant],
// [tenant.ErrInvalidID], a *[tenant.Refusal], and that of r's context where it ended first. A refusal for want of time
// also matches context.DeadlineExceeded; where the Timeout of an http.Client was what ran out, its error may say only
// that.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	release, err := t.admit(r)
	if err != nil {
		return nil, err
	}
	toBeRead := false
	defer func() {
		if !toBeRead {
			release()
		}
	}()
	resp, err := t.base().RoundTrip(r)
	if err == nil && resp != nil && !bodiless(r, resp) {
		resp.Body = holdUntilRead(r.Context(), resp, release)
		toBeRead = true
	}
	return resp, err
}

// CloseIdleConnections closes those of Base, where it has any, for [http.Client.CloseIdleConnections].
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// admit takes what r costs, and then a slot, which release gives back, once. Where it does not, r is not sent.
func (t *Transport) admit(r *http.Request) (release func(), err error) {
	defer func() {
		if release == nil && r.Body != nil {
			r.Body.Close() // a RoundTripper always closes it
		}
	}()
	who, ok := tenant.FromContext(r.Context())
	if !ok {
		return nil, ErrNoTenant
	}
	if err := tenant.CheckID(who.ID); err != nil {
		return nil, err
	}
	d, err := t.judge(r, who)
	if err != nil {
		return nil, err
	}
	if t.Slots == nil {
		return func() {}, nil
	}
	free, err := t.Slots.Acquire(r.Context(), who)
	if err != nil {
		return nil, t.giveBack(r, &d, err)
	}
	if free == nil { // a pool of somebody else's
		return func() {}, nil
	}
	return sync.OnceFunc(free), nil
}

// judge asks quota about r. The decision is the zero one where there is no quota.
func (t *Transport) judge(r *http.Request, who tenant.Tenant) (d quota.Decision, err error) {
	if t.Quota == nil {
		return d, nil
	}
	operation := quota.DefaultOperation
	if t.Operation != nil {
		operation = t.Operation(r)
	}
	if d, err = t.Quota.Take(r.Context(), who, operation); err != nil {
		return d, err
	}
	if refusal := refusalOf(&d); refusal != nil {
		return d, refusal
	}
	return d, nil
}

// giveBack refunds the cost of a call that got no slot because of err. It returns the error of the call.
func (t *Transport) giveBack(r *http.Request, d *quota.Decision, err error) error {
	back := refundOf(r, err)
	if t.Quota == nil || back == nil {
		return err
	}
	if lost := back(t.Quota, context.WithoutCancel(r.Context()), d); lost != nil {
		return errors.Join(err, lost)
	}
	return err
}
