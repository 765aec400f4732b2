package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

// partner stands in for somebody else's API. Its archive is slow: it answers nobody until it is opened.
type partner struct {
	*httptest.Server
	asked       chan struct{} // receives when a call waits for the archive
	openArchive func()        // may be called again
}

func newPartner() *partner {
	open := make(chan struct{})
	p := &partner{asked: make(chan struct{}, 1), openArchive: sync.OnceFunc(func() { close(open) })}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /quote", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "a quote for %s", r.Header.Get("X-Tenant-Id"))
	})
	mux.HandleFunc("GET /archive/{page}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case p.asked <- struct{}{}:
		default:
		}
		select {
		case <-open:
			fmt.Fprintf(w, "page %s for %s", r.PathValue("page"), r.Header.Get("X-Tenant-Id"))
		case <-r.Context().Done():
		}
	})
	p.Server = httptest.NewServer(mux)
	return p
}

// awaitArchive waits until a call waits for the archive.
func (p *partner) awaitArchive(ctx context.Context) error {
	select {
	case <-p.asked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
