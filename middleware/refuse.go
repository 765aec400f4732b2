package middleware

import (
	"errors"
	"net/http"
	"time"
)

// Refuse answers a request for its handler, as the innermost gate that serves it would: err is what [Stream] returned, or
// a limiter or pool that the handler asked itself. A *[tenant.Refusal] is answered by its reason or by Config.Refuse; a
// client that has left, by nothing; all else is a 500, and err not for the client. The request stays admitted, and
// [Outcome] has err besides.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := passageOf(r.Context())
	for p != nil && !p.goesOn() {
		p = p.outer
	}
	if p == nil {
		write(w, r, &problem{Title: http.StatusText(http.StatusInternalServerError), Status: http.StatusInternalServerError})
		return
	}
	p.gate.refuseAdmitted(w, r, p.root(), err)
}

// refuseAdmitted answers a request that was let in, and leaves it counted so.
func (g *Gate) refuseAdmitted(w http.ResponseWriter, r *http.Request, root *passage, err error) {
	root.mu.Lock()
	root.outcome.Err = errors.Join(root.outcome.Err, err)
	d := root.outcome.Decision
	root.mu.Unlock()
	visit := new(passage) // what becomes of a visit is not noted
	visit.visit(root)
	if refusal := g.refusalFor(r, visit, err); refusal != nil {
		g.setRateHeaders(w.Header(), &d, refusal, time.Now())
		g.refuse(w, r, visit, refusal)
		return
	}
	g.deny(w, r, visit, denialFor(r, err))
}
