package slots

import "github.com/tenantgate/tenantgate/tenant"

// lane is what the core knows of one tenant. What every request needs stands together, as in a [Request]: in a crowded
// pool both are cold, and cost what they take of the cache.
type lane struct {
	asserted tenant.Assertion // the latest that was said of the tenant's tier
	active   bool             // holds or waits
	number   int32            // that no other lane has now
	inUse    int              // slots
	limit    int              // slots it may hold at most

	queue  list[Request] // waiters, oldest first
	wanted int           // slots that the waiters will get
	first  int           // the width of the first waiter

	// The fair rule's account.
	tag      float64 // service received, in slot-nanoseconds per share, on the core's virtual clock
	hold     Average // holding times, in nanoseconds
	perShare float64 // 1/share
	share    int     // as configured, also above the capacity
	grant    uint64  // number of the last grant; 0: none
	born     uint64

	// The hard rule's order.
	passed   int            // slots that the waiters who passed the lane ask for
	unpassed *link[Request] // the first waiter who did not

	id      string
	tier    string
	ceiling int // as configured; 0: the whole capacity
	allowed int // streams
	streams int

	idleSince int64      // when it last ceased to wait or to hold; a refusal does not count
	idle      link[lane] // its place among the lanes that are not active and have no stream
	parked    int64      // when it got there
}

// A Request is one request on its way through the core: it waits, holds slots or a stream, or is done. The zero Request
// is ready for Enter, and so is one that is done.
type Request struct {
	// Width is how many slots it asks for, 0 for one. Where that is more than its tenant may ever hold, it gets as many
	// as that. Deadline is when it has no use for them any more; 0: never. Both are the caller's to set.
	Width    int
	Deadline int64

	State  State
	lane   *lane
	inLane link[Request]

	inQueue link[Request]
	arrived int64
	granted int64
	slots   int     // that it holds
	charged float64 // what the grant added to the lane's tag

	// The shell's, which the core leaves alone. A Request is used again; uses tells its uses apart, so that a release
	// called a second time, however late, frees nobody else's slot. decided holds an element once another step than
	// its own granted or refused the request.
	pool    *Pool
	uses    uint64
	decided chan struct{}

	pass    uint64 // when it passed its own lane (hard rule); 0: not yet
	passing int    // what it counts in the lane's passed

	// Reason is why a Refused request was refused, Tier the tier that applied, and RetryAfter when its tenant's queue
	// will probably be served, in nanoseconds. Late is set where its deadline was the reason.
	Reason     tenant.Reason
	Tier       string
	RetryAfter int64
	Late       bool
}

// State is where a [Request] stands.
type State uint8

const (
	Done      State = iota // released, cancelled, or never entered
	Waiting                // in its tenant's queue
	Granted                // holds slots
	Streaming              // counts as one of its tenant's streams
	Refused                // see Reason
	Unnamed                // turned away because its tenant has no valid ID
)

// width is how many slots r asks for.
func (r *Request) width() int { return max(r.Width, 1) }
