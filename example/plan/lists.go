package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
	"github.com/tenantgate/tenantgate/quota"
)

// The most that -load and -speed take, and the least above 0.
const (
	maxLoad  = 1000
	maxSpeed = 1e9
)

// parsePairs parses "name=value,name=value", each name once.
func parsePairs[V cmp.Ordered](text, like string, parse func(string) (V, error)) (map[string]V, error) {
	pairs := map[string]V{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		v, err := parse(value)
		var zero V
		switch {
		case !ok || err != nil:
			return nil, fmt.Errorf("%q, want a name, = and a value such as %s", pair, like)
		case v < zero:
			return nil, fmt.Errorf("%q is negative", pair)
		}
		if _, twice := pairs[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		pairs[name] = v
	}
	return pairs, nil
}

func parseCosts(text string) (quota.Costs, error) { return parsePairs(text, "5", strconv.Atoi) }

func parseDurations(text string) (map[string]time.Duration, error) {
	return parsePairs(text, "80ms", time.ParseDuration)
}

func parsePolicies(text string) (policies []replay.Policy, err error) {
	for name := range strings.SplitSeq(text, ",") {
		policy, err := replay.ParsePolicy(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if slices.Contains(policies, policy) {
			return nil, fmt.Errorf("%v is there twice", policy)
		}
		policies = append(policies, policy)
	}
	slices.Sort(policies)
	return policies, nil
}

func policyNames() string {
	var all []string
	for _, policy := range replay.Policies() {
		all = append(all, policy.String())
	}
	return strings.Join(all, ",")
}

func parseLoads(text string) (loads []float64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		load, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(load > 0 && load <= maxLoad) {
			return nil, fmt.Errorf("%q, want numbers above 0 and up to %d", part, maxLoad)
		}
		if slices.Contains(loads, load) {
			return nil, fmt.Errorf("%g is there twice", load)
		}
		loads = append(loads, load)
	}
	slices.Sort(loads)
	return loads, nil
}

func parseNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) {
		return 0, errors.New("want a number")
	}
	return n, nil
}

// into makes a flag of what parse parses.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*to, err = parse(text)
		return err
	}
}

// checkRanges finds numbers, times and speeds that no replay can have.
func (o *options) checkRanges() error {
	switch {
	case o.top < 1:
		return fmt.Errorf("-top is %d, want at least 1", o.top)
	case o.maxQueue < 0:
		return fmt.Errorf("-max-queue is %d, want at least 0", o.maxQueue)
	case o.maxWaiting < 0:
		return fmt.Errorf("-max-waiting is %d, want at least 0", o.maxWaiting)
	case o.maxWait < 0:
		return fmt.Errorf("-max-wait is %v, want at least 0s", o.maxWait)
	}
	if !(o.speed > 0 && o.speed <= maxSpeed) {
		return fmt.Errorf("-speed is %g, want more than 0 and at most %g", o.speed, maxSpeed)
	}
	for name, d := range o.durations.by {
		if d > maxDuration {
			return fmt.Errorf("-durations %s is %v, want at most %v", name, d, maxDuration)
		}
	}
	if d := o.durations.other; d < 0 || d > maxDuration {
		return fmt.Errorf("-duration is %v, want 0 to %v", d, maxDuration)
	}
	return nil
}
