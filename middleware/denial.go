package middleware

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// denial is why a request is turned away by something else than a limit.
type denial struct {
	result    Result
	reason    tenant.Reason
	status    int    // 0: nobody is there to answer
	challenge bool   // the client is told how to say who it is
	code      string // what was wrong with how it did (RFC 6750, 3.1); "" nothing
	detail    string
	wait      time.Duration // 0: no Retry-After
	err       error         // not for the client
}

// denialFor says what err means for the client.
func denialFor(r *http.Request, err error) *denial {
	d := &denial{result: Unauthenticated, status: http.StatusUnauthorized, err: err}
	switch {
	case clientLeft(r, err):
		d.result, d.status = Cancelled, 0
	case errors.Is(err, tenant.ErrNoCredential):
		d.challenge, d.detail = true, "A credential is required."
	case errors.Is(err, tenant.ErrMalformed):
		d.status = http.StatusBadRequest
		d.challenge, d.code, d.detail = true, "invalid_request", "The request must carry exactly one credential."
	case errors.Is(err, tenant.ErrInvalid):
		d.challenge, d.code, d.detail = true, "invalid_token", "The credential is not valid."
	case errors.Is(err, tenant.ErrForbidden):
		d.result, d.status = Forbidden, http.StatusForbidden
		d.challenge, d.code, d.detail = true, "insufficient_scope", "The credential does not allow this."
	case errors.Is(err, tenant.ErrUnavailable):
		d.result, d.reason, d.status = Refused, tenant.ReasonUnavailable, http.StatusServiceUnavailable
		d.detail, d.wait = "The credential cannot be checked at the moment.", time.Second
		if says, ok := errors.AsType[interface {
			error
			RetryAfter() time.Duration
		}](err); ok {
			d.wait = max(time.Second, says.RetryAfter())
		}
	default:
		d.result, d.status = Failed, http.StatusInternalServerError
	}
	return d
}

// refusalFor returns the refusal that err is; nil: none. A deadline that has run out is one.
func (g *Gate) refusalFor(r *http.Request, p *passage, err error) *tenant.Refusal {
	if refusal, ok := errors.AsType[*tenant.Refusal](err); ok {
		return refusal
	}
	if errors.Is(err, context.DeadlineExceeded) && !clientLeft(r, err) {
		return &tenant.Refusal{Reason: tenant.ReasonCapacity, Tier: g.expectedTier(p), Cause: err}
	}
	return nil
}

// deny answers a request that is denied.
func (g *Gate) deny(w http.ResponseWriter, r *http.Request, p *passage, d *denial) {
	p.settle(d.result, d.reason, d.status, d.err)
	if d.status == 0 {
		return
	}
	body := problem{Title: http.StatusText(d.status), Status: d.status, Detail: d.detail, Reason: d.reason}
	if d.challenge {
		w.Header().Set("WWW-Authenticate", challenge(g.schemes, d.code))
	}
	if d.wait > 0 {
		body.Type, body.RetryAfter = typeCapacity, g.spread(ceilSeconds(d.wait))
		w.Header().Set("Retry-After", strconv.FormatInt(body.RetryAfter, 10))
	}
	write(w, r, &body)
}
