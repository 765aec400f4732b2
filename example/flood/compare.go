package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	"github.com/tenantgate/tenantgate/internal/flood"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

// attempts is how often a flood is sent, at most, until its figures are what they should be: something else may have
// had the machine's cores for a moment.
const attempts = 3

// compare sends the flood through each policy and prints the figures. The error says which ones are off.
func compare(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	fmt.Fprintf(out, "%d slots, a share of %d for each tenant. The noisy tenant sends %d requests of %v at once.\n",
		flood.Capacity, flood.Share, flood.Noisy.Requests, flood.Hold)
	fmt.Fprintf(out, "The quiet tenant sends %d, %v later, or %v after that where the service is still busy reading.\n\n",
		flood.Quiet.Requests, flood.Quiet.After, flood.Hold)
	rows := make([]row, 0, len(flood.Policies))
	for _, policy := range flood.Policies {
		r := row{policy: policy.Name}
		for r.attempts < attempts && (r.attempts == 0 || len(r.misses()) > 0) {
			measured, err := measure(ctx, out, policy)
			if err != nil {
				return fmt.Errorf("%s: %w", policy.Name, err)
			}
			r.measured = measured
			r.attempts++
		}
		rows = append(rows, r)
	}
	fmt.Fprintln(out)
	printTable(out, rows)
	return verdict(out, rows)
}

// measure sends the flood once, through an API of its own.
func measure(ctx context.Context, out io.Writer, policy flood.Policy) (report flood.Report, err error) {
	tiers, err := plans()
	if err != nil {
		return report, err
	}
	slots, err := policy.New(tiers)
	if err != nil {
		return report, err
	}
	if pool, ok := slots.(interface{ Close() }); ok {
		defer pool.Close()
	}
	identities := jwttest.New(jwttenant.Issuer{}) // stands in for the identity provider
	service, err := newAPI(identities.Config(), tiers, slots)
	if err != nil {
		return report, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return report, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- service.serve(serving, listener) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()

	tokens := map[string]string{}
	for _, id := range []string{flood.Noisy.Tenant, flood.Quiet.Tenant} {
		tokens[id] = identities.Token(tenant.Tenant{ID: id, Tier: "enterprise"})
	}
	c, err := newClient(ctx, listener.Addr().String(), tokens)
	if err != nil {
		return report, err
	}
	defer c.close()
	var p progress
	defer p.show(out, policy.Name)()
	return sendFlood(ctx, c, slots, &p)
}

// sendFlood sends the flood to the service that slots are of.
func sendFlood(ctx context.Context, c *client, slots flood.Slots, p *progress) (flood.Report, error) {
	runtime.GC() // what the set-up left behind is not to be collected in the middle of the flood
	send := func(ctx context.Context, id string) error {
		err := c.send(ctx, c.work[id])
		p.answered(id)
		return err
	}
	arrived := func(ctx context.Context) {
		for ctx.Err() == nil {
			s := slots.Stats()
			if int(p.noisy.Load())+s.InUse+s.Waiting >= flood.Noisy.Requests {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	return flood.Run(ctx, send, arrived)
}
