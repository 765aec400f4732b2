package middleware

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

// The problem types of the IANA registry that fit.
const (
	typeQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// problem is the body of an answer (RFC 9457). Every text in it is fixed, or a name that the service configured.
type problem struct {
	Type       string        `json:"type,omitempty"` // empty: about:blank
	Title      string        `json:"title"`
	Status     int           `json:"status"`
	Detail     string        `json:"detail,omitempty"`
	Reason     tenant.Reason `json:"reason,omitempty"`
	Tier       string        `json:"tier,omitempty"`
	Limit      string        `json:"limit,omitempty"`       // the policy that spoke
	RetryAfter int64         `json:"retry_after,omitempty"` // seconds; absent: waiting cannot help
	Violated   []string      `json:"violated-policies,omitempty"`
}

// refuse answers a request that quota or slots turned away.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, p *passage, refusal *tenant.Refusal) {
	seconds := retrySeconds(refusal)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if seconds > 0 {
		seconds = g.spread(seconds)
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if g.cfg.Refuse != nil {
		p.settle(Refused, refusal.Reason, 0, refusal)
		g.cfg.Refuse(w, r, refusal)
		return
	}
	body := problem{Reason: refusal.Reason, Tier: refusal.Tier, Limit: refusal.Policy, RetryAfter: seconds}
	if refusal.Policy != "" {
		body.Violated = []string{refusal.Policy}
	}
	g.describe(&body)
	p.settle(Refused, refusal.Reason, body.Status, refusal)
	write(w, r, &body)
}

// describe fills in what a reason means.
func (g *Gate) describe(b *problem) {
	b.Type, b.Title, b.Status = typeQuota, "Quota exceeded", http.StatusTooManyRequests
	switch b.Reason {
	case tenant.ReasonPlan:
		b.Detail = "The operation takes more than the plan ever allows."
	case tenant.ReasonTenant:
		b.Detail = "The rate of the plan is used up."
	case tenant.ReasonWindow:
		b.Detail = "The quota of the plan is used up for this period."
	case tenant.ReasonGlobal:
		b.Detail = "The service is at its rate limit."
	case tenant.ReasonShare:
		b.Detail = "Too many requests or streams of this tenant run or wait."
	case tenant.ReasonClosing:
		b.Type, b.Title, b.Status = typeCapacity, "Service closing", g.cfg.ClosingStatus
		b.Detail = "The service is shutting down."
	case tenant.ReasonUnavailable:
		b.Type, b.Title, b.Status = typeCapacity, "Service unavailable", http.StatusServiceUnavailable
		b.Detail = "Limits cannot be checked at the moment."
	default:
		b.Type, b.Title, b.Status = typeCapacity, "Service at capacity", g.cfg.CapacityStatus
		b.Detail = "The service is at its capacity."
	}
}

// retrySeconds is Retry-After without its random part; 0: none, for waiting cannot help. Where nobody knows how long it
// takes for a slot, a second is a beginning.
func retrySeconds(refusal *tenant.Refusal) int64 {
	wait := refusal.RetryAfter
	switch refusal.Reason {
	case tenant.ReasonPlan:
		return 0
	case tenant.ReasonTenant, tenant.ReasonWindow, tenant.ReasonGlobal:
		if wait <= 0 {
			return 0
		}
	}
	return ceilSeconds(wait)
}

// spread adds the random part of Retry-After.
func (g *Gate) spread(seconds int64) int64 {
	return seconds + rand.Int64N(int64(g.cfg.RetrySpread/time.Second)+1)
}

// write sends a problem. It leaves the request's body unread and the connection to the server: to close it would cost an
// HTTP/2 client all its other requests, and over HTTP/1 may take the answer with it.
func write(w http.ResponseWriter, r *http.Request, body *problem) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // cannot be: texts and numbers
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(body.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(text, '\n')) // nothing can be done for a client that has gone
	}
}

// ceilSeconds rounds up, to at least 1.
func ceilSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return max(seconds, 1)
}
