package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tenantgate/tenantgate/tenant"
)

const (
	// workers is how many requests are under way at once at most.
	workers = 48
	// volley is how many requests are sent at the same moment: load does not come evenly.
	volley = 30
)

// load sends requests to the replicas in turn, as a balancer that leaves out those that refuse connections.
type load struct {
	browser   *http.Client
	tenants   []tenant.Tenant
	tokens    []string // of the tenants
	perSecond int
	targets   [replicas]atomic.Pointer[string] // addresses
	sent      atomic.Int64

	mu       sync.Mutex
	served   int
	refused  map[tenant.Reason]int
	failed   int            // requests that a replica died on
	inFlight map[string]int // units of these by tenant
	strange  []error        // answers that nobody should get
}

func newLoad(w workload, secret []byte) (*load, error) {
	l := &load{
		browser:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}},
		tenants:   w.names(),
		perSecond: w.perSecond,
		refused:   map[tenant.Reason]int{},
		inFlight:  map[string]int{},
	}
	for _, t := range l.tenants {
		token, err := mint(secret, t)
		if err != nil {
			return nil, err
		}
		l.tokens = append(l.tokens, token)
	}
	return l, nil
}

// run sends the requests, a volley at a time, and returns when all are answered or ctx has ended.
func (l *load) run(ctx context.Context, requests []request) {
	queue := make(chan request)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for r := range queue {
				l.send(ctx, r)
			}
		})
	}
	next := time.NewTicker(time.Second * volley / time.Duration(l.perSecond))
	defer next.Stop()
	for i, r := range requests {
		if i%volley == 0 {
			select {
			case <-next.C:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			break
		}
		queue <- r
	}
	close(queue)
	wg.Wait()
	l.browser.CloseIdleConnections() // a replica that is to end would wait for those that were never used
}

// send sends one request to the replica whose turn it is, or else to the next one that takes it.
func (l *load) send(ctx context.Context, r request) {
	turn := int(l.sent.Add(1))
	for i := range replicas {
		reason, err := l.ask(ctx, *l.targets[(turn+i)%replicas].Load(), r)
		if errors.Is(err, syscall.ECONNREFUSED) {
			continue // nobody has seen it
		}
		l.note(ctx, r, reason, err)
		return
	}
	l.note(ctx, r, "", errNoReplica)
}

var (
	errNoReplica = errors.New("no replica takes requests")
	errStrange   = errors.New("strange answer")
)

// ask sends the request to a replica, and returns why it was refused.
func (l *load) ask(ctx context.Context, target string, r request) (tenant.Reason, error) {
	method, path, _ := strings.Cut(r.route, " ")
	req, err := http.NewRequestWithContext(ctx, method, "http://"+target+path, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+l.tokens[r.tenant])
	resp, err := l.browser.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return tenant.ReasonNone, nil
	}
	var problem struct{ Reason tenant.Reason }
	if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil || problem.Reason == tenant.ReasonNone {
		return "", fmt.Errorf("%w: status %d, reason %q: %v", errStrange, resp.StatusCode, problem.Reason, err)
	}
	return problem.Reason, nil
}

// note counts an answer, or that there was none.
func (l *load) note(ctx context.Context, r request, reason tenant.Reason, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errNoReplica), errors.Is(err, errStrange):
		l.strange = append(l.strange, err)
	case err != nil:
		l.failed++
		l.inFlight[l.tenants[r.tenant].ID] += costs[r.route]
	case reason == tenant.ReasonNone:
		l.served++
	default:
		l.refused[reason]++
	}
}
