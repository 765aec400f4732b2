package redisquota

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Policy is what decides while Redis does not.
type Policy int

const (
	// Local has each replica go on by itself with its part of every limit: rates and bursts divided by
	// [Config.Replicas], but no burst below the largest cost that fits the tier. Calendar quotas are counted here, and
	// counted in Redis once it is back.
	Local Policy = iota
	// Closed refuses, with tenant.ReasonUnavailable.
	Closed
	// Open admits everything, and counts nothing.
	Open
)

// String returns "local", "closed" or "open".
func (p Policy) String() string {
	switch p {
	case Local:
		return "local"
	case Closed:
		return "closed"
	case Open:
		return "open"
	default:
		return fmt.Sprintf("Policy(%d)", int(p))
	}
}

const (
	defaultPrefix  = "tenantgate:"
	defaultTimeout = 50 * time.Millisecond
	leastTimeout   = time.Millisecond
	mostTimeout    = 10 * time.Second
)

// Config configures a [Store]. The zero Config is usable.
type Config struct {
	// Prefix begins every key; stores with the same one share their limits. Empty: "tenantgate:". It cannot have braces,
	// which tell Redis Cluster where a key lives.
	Prefix string
	// Replicas is how many processes share the limits: what each may do by itself while Redis is away, and how much of a
	// burst each may lease, is divided by it. 0: 1. Set it: too small a number admits too much while Redis is away.
	Replicas int
	// OnFailure says what decides while Redis does not. The zero value is [Local].
	OnFailure Policy
	// Timeout bounds a call of Redis, 1 ms to 10 s. 0: 50 ms. A decision that waits while another call is under way may
	// take twice as long, also where its own context ends before, and none waits once three calls in a row have failed.
	Timeout time.Duration
	// Leases has the store take units ahead for tenants that ask often, and decide on these by itself, without a call.
	// They count as taken until they are spent or given back, so no limit is ever exceeded; but a tenant may be refused
	// while another replica holds units for it, for less than two seconds, and changes of a tier that another replica
	// made take effect as late. See the package comment.
	Leases bool
	// Logger gets a line when the store goes over to OnFailure and one when it is back, and what went wrong for single
	// tenants. Nil: slog.Default().
	Logger *slog.Logger
}

// check returns every fault of cfg.
func (cfg *Config) check() error {
	var errs []error
	fail := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("redisquota: %s is %v, want %s", field, value, want))
	}
	if strings.ContainsAny(cfg.Prefix, "{}") {
		fail("Prefix", fmt.Sprintf("%q", cfg.Prefix), "no braces")
	}
	if cfg.Replicas < 0 {
		fail("Replicas", cfg.Replicas, "1 or more (or 0, for 1)")
	}
	if cfg.OnFailure < Local || cfg.OnFailure > Open {
		fail("OnFailure", cfg.OnFailure, "Local, Closed or Open")
	}
	if cfg.Timeout != 0 && (cfg.Timeout < leastTimeout || cfg.Timeout > mostTimeout) {
		fail("Timeout", cfg.Timeout, fmt.Sprintf("%v to %v (or 0, for %v)", leastTimeout, mostTimeout, defaultTimeout))
	}
	return errors.Join(errs...)
}

func (cfg *Config) setDefaults() {
	if cfg.Prefix == "" {
		cfg.Prefix = defaultPrefix
	}
	if cfg.Replicas == 0 {
		cfg.Replicas = 1
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
}
