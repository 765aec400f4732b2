package main

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/internal/flood"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

// serveUntilDone serves the API until ctx ends.
func serveUntilDone(ctx context.Context, out io.Writer, address string) error {
	tiers, err := plans()
	if err != nil {
		return err
	}
	slots, err := fairslots.New(fairslots.Config{Capacity: flood.Capacity, Tiers: tiers, MaxQueue: 500, MaxWaiting: 2000})
	if err != nil {
		return err
	}
	defer slots.Close()
	identities := jwttest.New(jwttenant.Issuer{}) // stands in for the identity provider
	service, err := newAPI(identities.Config(), tiers, slots)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%w (another address may follow -serve)", err)
	}
	printTour(out, "http://"+listener.Addr().String(), identities)
	err = service.serve(ctx, listener)
	fmt.Fprintln(out, "drained and stopped")
	return err
}

// printTour prints what to try. The tokens are good for an hour, at this server only.
func printTour(out io.Writer, url string, identities *jwttest.Issuer) {
	fmt.Fprintf(out, "Serving %s until Ctrl-C. A request of each plan:\n\n", url)
	curl := func(options, id, tier, path string) {
		token := identities.Token(tenant.Tenant{ID: id, Tier: tier})
		fmt.Fprintf(out, "curl %s -H 'Authorization: Bearer %s' '%s%s'\n\n", options, token, url, path)
	}
	curl("-i", "acme", "free", "/work")
	curl("-i", "globex", "pro", "/work")
	curl("-i", "initech", "enterprise", "/work")
	fmt.Fprint(out, "The free plan allows 10 requests at once and 2 a second. Of 15 the last ones are refused:\n\n")
	curl(`-s -o /dev/null -w '%{http_code} '`, "hooli", "free", "/work?n=[1-15]")
	fmt.Fprint(out, "What a refusal says:\n\n")
	curl("-si", "umbrella", "free", "/work?n=[1-15]")
	fmt.Fprintf(out, "What the operator sees:\n\ncurl -s '%s/metrics' | grep ^tenantgate_\n\n", url)
}
