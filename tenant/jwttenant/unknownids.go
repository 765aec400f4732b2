package jwttenant

import "strings"

// unknownIDs remember since when key IDs were asked for that there was no key of. They forget those that were not asked
// for again in the time between two fetches.
type unknownIDs struct {
	// How many fetches had begun when an ID was first asked for: of the IDs that were asked for since the last good fetch,
	// and of those before it.
	young, old map[string]uint64
}

// mostUnknown bounds the IDs of each age.
const mostUnknown = 1024

// ask returns how many fetches had begun when id was first asked for; it was begun now, if that is not remembered.
func (u *unknownIDs) ask(id string, begun uint64) uint64 {
	if first, ok := u.young[id]; ok {
		return first
	}
	first, ok := u.old[id]
	if !ok {
		first = begun
	}
	if len(u.young) < mostUnknown {
		if u.young == nil {
			u.young = map[string]uint64{}
		}
		u.young[strings.Clone(id)] = first // of its own, so that the rest of the token is not kept too
	}
	return first
}

// age is called after each good fetch.
func (u *unknownIDs) age() { u.young, u.old = nil, u.young }
