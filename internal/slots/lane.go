package slots

import "github.com/tenantgate/tenantgate/tenant"

// lane is what the core knows of one tenant.
type lane struct {
	id       string
	asserted tenant.Assertion // the latest that was said of the tenant's tier
	tier     string
	share    int // as configured, also above the capacity
	ceiling  int // as configured; 0: the whole capacity

	inUse int
	queue list[Request] // waiters, oldest first

	// The fair rule's account.
	tag   float64 // service received, in slot-seconds per share, on the core's virtual clock
	hold  float64 // average holding time, in seconds; negative: no history
	grant uint64  // number of the last grant; 0: none

	// The hard rule's order: the first passed waiters of the queue have passed the lane; unpassed is the one behind.
	passed   int
	unpassed *Request

	born      uint64
	inReady   int // places in the heaps
	inLongest int
	idleSince int64 // when it last ceased to hold and to wait
	idle      links[lane]
	active    bool // holds or waits; else it is in the list of idle lanes
}

// A Request is one request on its way through the core: it waits, holds a slot, or is done. The zero Request is ready
// for Enter, and so is one that is done.
type Request struct {
	State State
	// Reason is why a Refused request was refused, Tier the tier that applied, and RetryAfter when its tenant's queue
	// will probably be served, in nanoseconds.
	Reason     tenant.Reason
	Tier       string
	RetryAfter int64

	lane    *lane
	inLane  links[Request]
	inQueue links[Request]
	arrived int64
	granted int64
	charged float64 // what the grant added to the lane's tag
	pass    uint64  // when it passed its own lane (hard rule); 0: not yet

	// The shell's, which the core leaves alone. A Request is used again; uses tells its uses apart, so that a release
	// called a second time, however late, frees nobody else's slot. decided holds an element once another step than
	// its own granted or refused the request.
	uses    uint64
	decided chan struct{}
}

// State is where a [Request] stands.
type State uint8

const (
	Done    State = iota // released, cancelled, or never entered
	Waiting              // in its tenant's queue
	Granted              // holds a slot
	Refused              // see Reason
)
