package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/tenantgate/tenantgate/middleware"
)

// accessLog writes a line for each request once it is done, also where it panics. It stands outside of the gate, so that
// the time it takes includes the wait for a slot; what the gate found reaches it by way of [observe].
func accessLog(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		outcome := new(middleware.Outcome)
		answer := &statusWriter{ResponseWriter: w}
		defer func() {
			log.LogAttrs(r.Context(), slog.LevelInfo, "request",
				slog.String("method", r.Method),
				slog.String("path", r.URL.Path),
				slog.Int("status", answer.status),
				slog.Duration("took", time.Since(start)),
				slog.Any("tenant", outcome.Tenant), // its ID and tier, not its claims
				slog.String("outcome", string(outcome.Result)),
				slog.String("reason", string(outcome.Reason)),
				slog.Duration("waited", outcome.Wait),
				slog.Any("error", outcome.Err),
			)
		}()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), outcomeKey{}, outcome)))
	})
}

type outcomeKey struct{}

// observe hands what the gate found about a request to the access log around it.
func observe(r *http.Request, found middleware.Outcome) {
	if outcome, ok := r.Context().Value(outcomeKey{}).(*middleware.Outcome); ok {
		*outcome = found
	}
}

// statusWriter remembers the status of an answer; 0: nothing was written.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) { // others come before the answer
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach what the server's own writer can do.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
