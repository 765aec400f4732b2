// Outbound is a service that calls a fragile partner, from its handlers and from a job that outlives its request. Each
// call carries the tenant that it is made for, and stays within what that tenant may ask of the partner.
//
//	go run ./example/outbound           runs service and partner on loopback, tells what happens, and ends
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "outbound:", err)
		os.Exit(1)
	}
}

// run tells the story to out, where the service logs to, too.
func run(ctx context.Context, out io.Writer) error {
	partner := newPartner()
	defer partner.Close()
	issuer := jwttest.New(jwttenant.Issuer{}) // stands in for the identity provider
	service, err := newService(partner.URL, issuer.Config(), logTo(out))
	if err != nil {
		return err
	}
	defer service.close()
	defer partner.openArchive() // or else the job does not end
	server := httptest.NewServer(service.handler)
	defer server.Close()
	acme := &visitor{ctx, out, server.URL, tenant.Tenant{ID: "acme", Tier: "free"}, issuer}
	globex := &visitor{ctx, out, server.URL, tenant.Tenant{ID: "globex", Tier: "pro"}, issuer}

	if err := acme.send("GET", "/quote"); err != nil {
		return err
	}
	if err := acme.send("POST", "/reports"); err != nil { // the job goes on
		return err
	}
	if err := partner.awaitArchive(ctx); err != nil {
		return err
	}
	// On its plan acme may have one call at a time, and its job has it. That is no concern of globex's.
	if err := acme.send("GET", "/quote"); err != nil {
		return err
	}
	if err := globex.send("GET", "/quote"); err != nil {
		return err
	}
	// acme has spent three calls of four, for the refused one was not free. So the report has no third page.
	partner.openArchive()
	service.jobs.Wait()
	return nil
}

// visitor sends requests of one tenant to the service, and tells how they are answered.
type visitor struct {
	ctx    context.Context
	out    io.Writer
	url    string
	who    tenant.Tenant
	issuer *jwttest.Issuer
}

func (v *visitor) send(method, path string) error {
	r, err := http.NewRequestWithContext(v.ctx, method, v.url+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(v.issuer.Authorize(r, v.who))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.Header.Get("Content-Type") == "application/problem+json" {
		var problem struct{ Reason string }
		if err := json.Unmarshal(text, &problem); err != nil {
			return err
		}
		text = []byte("reason: " + problem.Reason)
	}
	fmt.Fprintf(v.out, "%v: %s %s: %s: %s\n", v.who, method, path, answer.Status, text)
	return nil
}

// logTo returns a log whose lines have the tenant that their context carries, and no time, for that is never the same.
func logTo(out io.Writer) *slog.Logger {
	return slog.New(tenant.LogHandler(slog.NewTextHandler(out, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
}
