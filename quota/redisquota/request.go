package redisquota

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// kind is what an operation of the script does. The numbers are the script's.
type kind uint8

const (
	take kind = iota + 1
	look      // and take, where there is more to say of it
	refund
	release
	post
	setTier
	settle
	reset
	draw
)

// operation is one thing that is asked of the script, and what came of it.
type operation struct {
	kind     kind
	tenant   string
	call     *quota.Call      // of take and look: the question, and its answer
	said     tenant.Assertion // of take and look: the tier that is asserted
	ahead    int              // of take: how many units to lease beside the cost
	charge   *quota.Charge    // of refund, and of release: the unspent units, and where they were taken from
	lease    hold             // of release; of take: what was granted
	posted   *posting         // of post
	assigned tenant.Assertion // of setTier
	drawing  *drawing         // of draw

	leaseFor        time.Duration // of take: for how long that was granted
	assignedInStore bool          // of take and look: the tier that applied is, or is overridden by, an assignment there

	err     error  // why it was not done
	inDoubt bool   // err, but it may have been done
	missing string // the tier that has to be in the request for the operation to be done
}

func (op *operation) fail(err error, inDoubt bool) { op.err, op.inDoubt = err, inDoubt }

// hold is a lease as the script knows it: its units, and when it ends, in microseconds of the server's clock.
type hold struct {
	units int
	ends  float64
	from  loan // in a Redis Cluster: the units of the bucket that all tenants share
}

// mode says where a request finds the bucket that all tenants share. The numbers are the script's.
type mode uint8

const (
	noCluster   mode = iota
	clusterHere      // among the accounts of the request
	clusterPart      // a part of it was leased before: see portion
)

// portion is what a request may spend of the bucket that all tenants share.
type portion struct {
	open    float64 // by anybody
	reserve float64 // beyond that, by tenants whose own bucket is at least half full
	ends    float64 // of the lease, in microseconds of the server's clock
}

// request is one call of the script. The zero request is empty; reset makes it so again, and keeps its memory.
type request struct {
	store   *Store
	rules   *quota.Rules
	defined *definitions // anew, of the tiers
	mode    mode
	portion
	loan loan // which portion is

	ops       []*operation
	keys      []string
	keyOf     map[string]uint16
	tiers     []requestTier
	tierOf    map[string]uint16
	head, ask []byte

	// What the reply said beside the answers.
	now    float64 // of the server's clock, in microseconds
	shared level   // the bucket that all tenants share, where it is here
	left   portion
}

// requestTier is a tier as a request describes it.
type requestTier struct {
	tenant.Tier
	windows quota.WindowSet // that are counted for a tenant on it
}

// maxName is how long a tier's name can be.
const maxName = 128

func (r *request) init(s *Store, rules *quota.Rules) {
	r.store, r.rules, r.mode, r.portion, r.loan = s, rules, noCluster, portion{}, loan{}
	if r.keyOf == nil {
		r.keyOf, r.tierOf = map[string]uint16{}, map[string]uint16{}
	}
	clear(r.keyOf)
	clear(r.tierOf)
	clear(r.ops)
	clear(r.keys)
	r.ops, r.keys, r.tiers, r.head, r.ask = r.ops[:0], r.keys[:0], r.tiers[:0], r.head[:0], r.ask[:0]
	if rules.Tiers == nil { // there will be nothing to do
		r.defined = &definitions{}
		return
	}
	r.defined = s.catalogues.of(rules.Tiers).definitions()
	r.describe(rules.Tiers.Named("").Name) // the default is the first
	for _, name := range s.wanted() {
		r.describe(name)
	}
}

// key returns the number of a tenant's account.
func (r *request) key(id string) uint16 {
	i, ok := r.keyOf[id]
	if !ok {
		r.keys = append(r.keys, r.store.key(id))
		i = uint16(len(r.keys))
		r.keyOf[id] = i
	}
	return i
}

// describe returns the number of the tier called name, which the catalogue may not have. 0: no name.
func (r *request) describe(name string) uint16 {
	if name == "" {
		return 0
	}
	if i, ok := r.tierOf[name]; ok {
		return i
	}
	t, known := r.rules.Tiers.Lookup(name)
	if !known {
		t = tenant.Tier{Name: name}
		if len(name) > maxName { // it names no tier that can ever be defined, as any other that long
			t.Name = name[:maxName] + "~"
		}
	}
	entry := requestTier{Tier: t}
	for w := range quota.Window(quota.Windows) {
		if known && (r.rules.Counted.Has(w) || w.Limit(t.Quotas) > 0) {
			entry.windows |= 1 << w
		}
	}
	r.tiers = append(r.tiers, entry)
	i := uint16(len(r.tiers))
	r.tierOf[name] = i

	h := append(append(r.head, byte(len(t.Name))), t.Name...)
	h = append(h, flag(known), flag(t.Rate != tenant.Unlimited))
	h = appendFloats(h, t.Rate, float64(t.Burst), r.defined.at[t.Name])
	h = append(h, count(entry.windows))
	for w := range quota.Window(quota.Windows) {
		if entry.windows.Has(w) {
			h = appendFloats(append(h, byte(w)+1), float64(w.Limit(t.Quotas)))
		}
	}
	r.head = h
	return i
}

// describeAll describes every tier of the catalogue.
func (r *request) describeAll() {
	for _, t := range r.rules.Tiers.All() {
		r.describe(t.Name)
	}
}

// add asks for one more operation.
func (r *request) add(op *operation) {
	r.ops = append(r.ops, op)
	op.err, op.inDoubt, op.missing = nil, false, ""
	if op.kind == take || op.kind == look {
		r.addCall(op)
		return
	}
	b := append(r.ask, byte(op.kind))
	b = binary.LittleEndian.AppendUint16(b, r.key(op.tenant))
	switch op.kind {
	case refund:
		c := op.charge
		b = appendFloats(b, float64(c.Units))
		b = append(b, flag(c.Bucket), flag(c.Cluster))
		b = appendWindows(b, c)
	case release:
		c := op.charge
		b = appendFloats(b, float64(op.lease.units), op.lease.ends, float64(c.Units))
		b = append(b, flag(c.Bucket), flag(c.Cluster))
		b = appendWindows(b, c)
	case post:
		r.keys = append(r.keys, r.store.key(op.tenant)+":"+op.posted.id)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(r.keys)))
		b = op.posted.append(b)
	case setTier:
		b = r.appendAssertion(b, op.assigned)
		b = r.appendGiven(b, op.tenant)
	case settle:
		b = r.appendGiven(b, op.tenant)
	case draw:
		d := op.drawing
		b = appendFloats(b, d.want.open, d.want.reserve)
	}
	r.ask = b
}

// addCall is add for a take or a look.
func (r *request) addCall(op *operation) {
	said := op.said
	given, isGiven := r.rules.Tiers.Assigned(op.tenant)
	plain := op.kind == take && op.ahead == 0 && op.call.Cost > 0 && said.AsOf.Nanosecond() == 0 && !isGiven
	b := r.ask
	if plain {
		b = append(b, byte(take))
	} else {
		b = append(b, byte(look), flag(op.kind == look))
	}
	b = binary.LittleEndian.AppendUint16(b, r.key(op.tenant))
	b = binary.LittleEndian.AppendUint16(b, r.describe(said.Tier))
	b = appendFloats(b, float64(said.AsOf.Unix()), float64(op.call.Cost))
	if !plain {
		b = binary.LittleEndian.AppendUint32(b, uint32(said.AsOf.Nanosecond()))
		b = appendFloats(b, float64(op.ahead))
		b = r.appendAssertion(b, given)
	}
	r.ask = b
}

// args returns the arguments of the script.
func (r *request) args() []byte {
	c := &r.rules.Cluster
	shared := uint16(0)
	if r.mode == clusterHere {
		shared = r.key(sharedID)
	}
	b := make([]byte, 0, 64+len(r.head)+len(r.ask))
	b = appendFloats(b, r.store.clock())
	b = append(b, byte(r.mode))
	b = binary.LittleEndian.AppendUint16(b, shared)
	b = append(b, flag(!r.store.notPlain))
	b = appendFloats(b, c.PerSecond, float64(c.Burst), r.rules.Reserve*float64(c.Burst), r.open, r.portion.reserve, r.ends,
		r.defined.latest)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.tiers)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.ops)))
	return append(append(b, r.head...), r.ask...)
}

func (r *request) appendAssertion(b []byte, a tenant.Assertion) []byte {
	return appendTime(binary.LittleEndian.AppendUint16(b, r.describe(a.Tier)), a.AsOf)
}

func appendTime(b []byte, t time.Time) []byte {
	b = appendFloats(b, float64(t.Unix()))
	return binary.LittleEndian.AppendUint32(b, uint32(t.Nanosecond()))
}

// appendGiven appends the tier that the tenant is assigned in this process.
func (r *request) appendGiven(b []byte, id string) []byte {
	given, _ := r.rules.Tiers.Assigned(id)
	return r.appendAssertion(b, given)
}

// appendWindows appends the windows that were charged, and when each began.
func appendWindows(b []byte, c *quota.Charge) []byte {
	b = append(b, count(c.Counted))
	for w := range quota.Window(quota.Windows) {
		if c.Counted.Has(w) {
			b = appendFloats(append(b, byte(w)+1), float64(c.Windows[w]))
		}
	}
	return b
}

func appendFloats(b []byte, values ...float64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func count(set quota.WindowSet) byte { return byte(bits.OnesCount8(uint8(set))) }

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// micros returns a number of microseconds as a Duration, rounded down, as far as one can say it.
func micros(us float64) time.Duration {
	const most = float64(math.MaxInt64 / int64(time.Microsecond))
	return time.Duration(min(max(us, -most), most)) * time.Microsecond
}
