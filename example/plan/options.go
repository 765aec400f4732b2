package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tenantgate/tenantgate/internal/replay"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// options are what the flags say.
type options struct {
	trace    string
	capacity int
	tables   []tierTable
	policies []replay.Policy

	durations durations
	costs     quota.Costs

	// loads are ascending. Without any, the trace is replayed at speed alone.
	loads []float64
	speed float64
	// show is the load whose tenants are shown one by one, 0 the default.
	show   float64
	spread bool

	maxQueue, maxWaiting int
	maxWait              time.Duration

	top  int
	html string
}

// durations are how long requests take of which the trace does not say it.
type durations struct {
	other time.Duration
	by    map[string]time.Duration
}

func (d durations) of(operation string) time.Duration {
	if known, ok := d.by[operation]; ok {
		return known
	}
	return d.other
}

// parseFlags returns flag.ErrHelp where the user asked for it.
func parseFlags(args []string) (*options, error) {
	o, tier := new(options), tenant.Tier{}
	flags := newFlags(o, &tier)
	var files []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			break
		}
		files, args = append(files, flags.Arg(0)), flags.Args()[1:]
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%d traces are given, want one file, or - for standard input", len(files))
	}
	o.trace = files[0]
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	return o, o.complete(tier, set)
}

// complete works out what several flags say together, and finds what they must not say.
func (o *options) complete(tier tenant.Tier, set map[string]bool) error {
	if len(o.policies) == 0 {
		o.policies = replay.Policies()
	}
	if err := o.completeTables(tier, set); err != nil {
		return err
	}
	if set["speed"] && set["load"] {
		return errors.New("-speed and -load: want one of them, a load is a speed")
	}
	if set["show"] && !slices.Contains(o.loads, o.show) {
		return fmt.Errorf("-show is %g, want one of the loads %v", o.show, o.loads)
	}
	if err := o.checkRanges(); err != nil {
		return err
	}
	return o.check()
}

func (o *options) completeTables(tier tenant.Tier, set map[string]bool) error {
	if len(o.tables) == 0 {
		tier, err := withBurst(tier, set["rate"], set["burst"])
		if err != nil {
			return err
		}
		table := tierTable{}
		if err := table.define([]tenant.Tier{tier}); err != nil {
			return err
		}
		o.tables = []tierTable{table}
		return nil
	}
	for _, name := range []string{"share", "ceiling", "rate", "burst"} {
		if set[name] {
			return fmt.Errorf("-%s is for a single tier: say it in -tiers, %s=", name, name)
		}
	}
	names := map[string]bool{}
	for i := range o.tables {
		table := &o.tables[i]
		if table.name == "" && len(o.tables) > 1 {
			table.name = fmt.Sprintf("table %d", i+1)
		}
		if names[table.name] {
			return fmt.Errorf("-tiers: two tables are called %q", table.name)
		}
		names[table.name] = true
	}
	return nil
}

// check lets the engine judge the settings, before the trace is read.
func (o *options) check() error {
	for i := range o.tables {
		for _, policy := range o.policies {
			run, err := replay.New(o.config(&o.tables[i], policy))
			if err != nil {
				return err
			}
			run.Finish()
		}
	}
	return nil
}

// config is the engine's for one policy. All tenants are listed, for the policies to be compared by them.
func (o *options) config(table *tierTable, policy replay.Policy) replay.Config {
	const nobody, endless = -1, -1
	return replay.Config{
		Policy: policy, Capacity: o.capacity, Tiers: table.tiers, Costs: o.costs,
		MaxQueue: cmp.Or(o.maxQueue, nobody), MaxWaiting: cmp.Or(o.maxWaiting, nobody), MaxWait: cmp.Or(o.maxWait, endless),
		Top: 1 << 30,
	}
}

func newFlags(o *options, tier *tenant.Tier) *flag.FlagSet {
	f := flag.NewFlagSet("plan", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.IntVar(&o.capacity, "capacity", 10, "how many requests the service works on at once: its `slots`")
	tier.Name = "all"
	tier.Rate = tenant.Unlimited
	f.IntVar(&tier.Share, "share", 2, "`slots` that each tenant is sure of, where all are on one tier")
	f.IntVar(&tier.Ceiling, "ceiling", 0, "`slots` that a tenant may hold at most; 0: all")
	f.Func("rate", "`requests` a second that a tenant may send (default: any number)", into(&tier.Rate, parseNumber))
	f.IntVar(&tier.Burst, "burst", 0, "`requests` that it may send at once (default: one second of the rate)")
	f.Func("tiers", "a `table` of tiers, the first being the default, such as\n"+
		"\"bold: free share=2 rate=5 burst=10; pro share=6 ceiling=8\"\n"+
		"where bold is the table's name; give several to see them side by side", func(text string) error {
		table, err := parseTiers(text)
		o.tables = append(o.tables, table)
		return err
	})
	f.Func("policies", "`names` of those to compare (default: "+policyNames()+")", into(&o.policies, parsePolicies))
	f.DurationVar(&o.durations.other, "duration", 20*time.Millisecond,
		"how long a request takes of which the trace does not say it")
	f.Func("durations", "the same by operation, a `list` such as page=80ms,asset=5ms", into(&o.durations.by, parseDurations))
	f.Func("cost", "what operations cost of a rate, 1 where nothing is said, a `list` such as export=5",
		into(&o.costs, parseCosts))
	f.Float64Var(&o.speed, "speed", 1, "how many `times` as fast the requests come as in the trace")
	f.Func("load", "instead of a speed: offered `loads`, 1 being as much work as the slots can do, such as 0.3,0.6,0.95",
		into(&o.loads, parseLoads))
	f.Float64Var(&o.show, "show", 0, "the `load` whose tenants are shown one by one (default: the highest below 1)")
	f.BoolVar(&o.spread, "spread", true, "where all offsets are whole seconds, spread the requests of a second over it")
	f.IntVar(&o.maxQueue, "max-queue", 100, "`requests` of one tenant that may wait; 0: none")
	f.IntVar(&o.maxWaiting, "max-waiting", 1000, "`requests` of all tenants that may wait; 0: none")
	f.DurationVar(&o.maxWait, "max-wait", 5*time.Second, "how long one may wait; 0: for however long")
	f.IntVar(&o.top, "top", 10, "how many of the worst `tenants` are listed")
	f.StringVar(&o.html, "html", "", "write a page with plots to this `file`, too")
	return f
}

// usage is the text of -h.
func usage() string {
	var b strings.Builder
	b.WriteString(`Plan replays a trace of requests through several ways to hand out slots, and says who would have waited.

  plan [flags] trace.csv        - is standard input

The trace is CSV with a header: offset_s and tenant, and if you have them tier, operation, duration_ms.

  offset_s,tenant,tier,operation,duration_ms
  0.000,acme,pro,export,800
  0.012,globex,free,page,

To see what shares do at several loads, as a page with plots:

  plan -capacity 10 -durations page=80ms,asset=5ms -load 0.3,0.6,0.8,0.95,1.2 -html plan.html \
    -tiers "even: free share=2; pro share=2" -tiers "bold: free share=1; pro share=6 ceiling=8" trace.csv

The policies: shared is one queue for all. cap: a tenant holds at most its share. published: more than its share only
while no other tenant waits. fairslots: more than its share while slots are free, and those below theirs go first.

Rates are in the time of the replay: at twice the speed, a tenant sends twice as much against the same rate.

`)
	f := newFlags(new(options), new(tenant.Tier))
	f.SetOutput(&b)
	f.PrintDefaults()
	return b.String()
}
