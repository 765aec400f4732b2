package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
)

// replicaArg as the first argument makes this program a replica: it reads a replicaConfig from its standard input, prints
// a replicaAddrs, and serves until its input ends, which it also does when the parent is killed.
const replicaArg = "replica"

func isReplica() bool { return len(os.Args) > 1 && os.Args[1] == replicaArg }

type replicaConfig struct {
	Redis     string // its address
	AccessLog string // the path of the file
	Secret    []byte // of all tokens
}

// replicaAddrs is where a replica listens: for tenants, and for [replicaStats].
type replicaAddrs struct{ Tenants, Admin string }

// replicaStats is what a replica says of itself.
type replicaStats struct {
	quota.StoreStats
	// LostRefunds are units that could not be given back.
	LostRefunds uint64
	// Running is how many requests hold a slot.
	Running int
}

const (
	// timeout is long, so that no call fails because the machine is busy: that would be a fault, and the first phase is to
	// have none. A server that was killed refuses at once.
	timeout = 2 * time.Second
	// work is how long a request holds its slot, for each unit that it costs. There are few slots, and little patience:
	// some requests wait, and some in vain, so that there are refunds.
	work     = 6 * time.Millisecond
	capacity = 3
	maxQueue = 3
	maxWait  = 50 * time.Millisecond
)

// runReplica is the program with replicaArg.
func runReplica(in io.Reader, out io.Writer) error {
	signal.Ignore(os.Interrupt) // it is the parent's to say when
	logging.Disable()           // of go-redis, which else tells how often it could not reach the server that was killed
	var cfg replicaConfig
	if err := json.NewDecoder(in).Decode(&cfg); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	r, err := newReplica(cfg)
	if err != nil {
		return err
	}
	tenants, err := serve(r.handler())
	if err != nil {
		return err
	}
	admin, err := serve(http.HandlerFunc(r.serveStats))
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(replicaAddrs{tenants.Addr, admin.Addr}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, r.gate.Drain(ctx), tenants.Shutdown(ctx), admin.Shutdown(ctx), r.close())
}

// serve starts a server on a free port of the loopback, which is in its Addr.
func serve(h http.Handler) (*http.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Addr: listener.Addr().String(), Handler: h}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	return server, nil
}

// replica is an API behind the whole gate, with limits that it shares through Redis.
type replica struct {
	client  *redis.Client
	store   *countingStore
	limiter *quota.Limiter
	slots   *fairslots.Pool
	gate    *middleware.Gate
	mux     *http.ServeMux
	log     *accessLog
}

func newReplica(cfg replicaConfig) (*replica, error) {
	tiers, err := newTiers()
	if err != nil {
		return nil, err
	}
	resolver, err := jwttenant.New(jwttenant.Config{Issuers: []jwttenant.Issuer{trust(cfg.Secret)}})
	if err != nil {
		return nil, err
	}
	r := &replica{client: redis.NewClient(&redis.Options{Addr: cfg.Redis}), mux: http.NewServeMux()}
	r.slots, err = fairslots.New(fairslots.Config{Capacity: capacity, Tiers: tiers, MaxQueue: maxQueue, MaxWait: maxWait})
	if err != nil {
		return nil, err
	}
	if r.log, err = openAccessLog(cfg.AccessLog); err != nil {
		return nil, err
	}
	if r.store, r.limiter, err = newLimiter(r.client, tiers); err != nil {
		return nil, err
	}
	for route, cost := range costs {
		r.mux.HandleFunc(route, func(w http.ResponseWriter, req *http.Request) { r.answer(w, req, cost) })
	}
	r.gate, err = middleware.New(middleware.Config{
		Resolver:  resolver,
		Quota:     r.limiter,
		Slots:     r.slots,
		Operation: middleware.MuxPattern(r.mux),
		Observe:   r.observe,
	})
	return r, err
}

// newLimiter returns a limiter as every replica has it, and its store.
func newLimiter(client *redis.Client, tiers *tenant.Tiers) (*countingStore, *quota.Limiter, error) {
	store, err := redisquota.New(client, redisquota.Config{Replicas: replicas, OnFailure: redisquota.Local, Timeout: timeout})
	if err != nil {
		return nil, nil, err
	}
	counting := &countingStore{Store: store}
	limiter, err := quota.New(quota.Config{Tiers: tiers, Costs: costs, Global: cluster, Store: counting})
	return counting, limiter, err
}

type arrivalKey struct{}

// handler notes when a request arrives, before the gate.
func (r *replica) handler() http.Handler {
	inner := r.gate.Handler(r.mux)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		inner.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), arrivalKey{}, time.Now().UnixMicro())))
	})
}

// answer serves a request. It is in the log before it is answered.
func (r *replica) answer(w http.ResponseWriter, req *http.Request, cost int) {
	t, _ := tenant.FromContext(req.Context())
	r.note(req, entry{Tenant: t.ID, Cost: cost, Status: http.StatusOK})
	time.Sleep(time.Duration(cost) * work)
	w.WriteHeader(http.StatusOK)
}

// observe logs the requests that were turned away by a limit. Those that were served are logged already.
func (r *replica) observe(req *http.Request, o middleware.Outcome) {
	if o.Result == middleware.Refused {
		r.note(req, entry{Tenant: o.Tenant.ID, Cost: o.Decision.Cost, Status: o.Status, Reason: o.Reason})
	}
}

// note logs a request that is judged by now. Without its log the replica is of no use.
func (r *replica) note(req *http.Request, e entry) {
	e.From, e.To = req.Context().Value(arrivalKey{}).(int64), time.Now().UnixMicro()
	if err := r.log.write(e); err != nil {
		log.Fatal(err)
	}
}

func (r *replica) serveStats(w http.ResponseWriter, _ *http.Request) {
	s := replicaStats{r.store.Stats(), r.store.lostRefunds.Load(), r.slots.Stats().InUse}
	_ = json.NewEncoder(w).Encode(s) // or the client left
}

func (r *replica) close() error {
	r.limiter.Close()
	return errors.Join(r.store.Close(), r.client.Close(), r.log.close())
}

// countingStore counts the units of refunds that failed.
type countingStore struct {
	*redisquota.Store
	lostRefunds atomic.Uint64
}

// Refund implements [quota.Store].
func (s *countingStore) Refund(ctx context.Context, rules quota.Rules, charges []quota.Charge) error {
	err := s.Store.Refund(ctx, rules, charges)
	if err != nil {
		for _, c := range charges {
			s.lostRefunds.Add(uint64(c.Units))
		}
	}
	return err
}
