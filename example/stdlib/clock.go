package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/tenantgate/tenantgate/middleware"
)

// clock is a stream of server-sent events: the time, each second, until its client leaves or the service stops. It goes
// on for long and takes next to nothing, so it gives its slot back and counts among the tenant's streams instead.
func clock(stopping context.Context) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := middleware.Stream(r.Context()); err != nil {
			middleware.Refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		answer := http.NewResponseController(w)
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for now := time.Now(); ; {
			_ = answer.SetWriteDeadline(now.Add(5 * time.Second)) // in place of WriteTimeout, which is for a whole answer
			fmt.Fprintf(w, "data: %s\n\n", now.Format(time.TimeOnly))
			if answer.Flush() != nil {
				return
			}
			select {
			case now = <-second.C:
			case <-r.Context().Done():
				return
			case <-stopping.Done(): // http.Server.Shutdown waits for streams, and does not tell them
				return
			}
		}
	}
}
