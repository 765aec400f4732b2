package jwttenant

import (
	"slices"
	"strings"
	"time"
)

// keyTable are the keys of one document, or those of [PublicKeys]. It is never changed.
type keyTable struct {
	byID map[string][]tableKey // by kid, of one kid one for each algorithm; nil: there is no document that counts
	// number is that of the fetch that brought the document, from 1; 0: none did yet.
	number uint64
	// began is when that fetch did.
	began time.Time

	keys   int      // that count
	faults []string // of the others
}

// why says what is wrong with the keys that do not count.
func (t *keyTable) why() string {
	const most = 10
	if len(t.faults) == 0 {
		return "there are no others"
	}
	return strings.Join(t.faults[:min(len(t.faults), most)], "; ")
}

// tableKey is all keys with one kid and one algorithm: an issuer may publish several of them, and a token does not say
// which of these it is signed with.
type tableKey struct {
	*key
	mark string // all of what the keys are
}

// mostAlike bounds the keys with one kid and one algorithm, each of which costs a verification.
const mostAlike = 4

// newKeyTable returns a table of keys. A key that old has too is the same one in both.
func newKeyTable(keys []published, old *keyTable) (t *keyTable, faults []string) {
	t = &keyTable{byID: map[string][]tableKey{}}
	type name struct {
		id  string
		alg *algorithm
	}
	alike := map[name][]published{}
	for _, k := range keys {
		n := name{k.id, k.alg}
		switch known := alike[n]; {
		case slices.ContainsFunc(known, func(other published) bool { return other.mark == k.mark }):
		case len(known) == mostAlike:
			faults = append(faults, "one more key with one kid and algorithm")
		default:
			alike[n] = append(known, k)
			t.keys++
		}
	}
	for n, keys := range alike {
		t.byID[n.id] = append(t.byID[n.id], old.same(n.id, together(keys)))
	}
	return t, faults
}

// together makes one key of several with one kid and one algorithm.
func together(keys []published) tableKey {
	marks := make([]string, len(keys))
	for n, k := range keys {
		marks[n] = k.mark
	}
	slices.Sort(marks) // the order in the document does not matter
	return tableKey{mark: strings.Join(marks, "\n\n"), key: &key{alg: keys[0].alg, signed: func(t *token) error {
		iss, _ := text(t.claims.at("iss"))
		for _, k := range keys {
			if signsFor(k.issuer, iss) && k.signed(t) == nil {
				return nil
			}
		}
		return errSignature
	}}}
}

// same returns the key in t that is the same as k, or else k.
func (t *keyTable) same(id string, k tableKey) tableKey {
	for _, known := range t.byID[id] {
		if known.alg == k.alg && known.mark == k.mark {
			return known
		}
	}
	return k
}

// find returns the key with that ID and algorithm.
func (t *keyTable) find(alg *algorithm, id string) (*key, error) {
	keys := t.byID[id]
	if id == "" && keys == nil && len(t.byID) == 1 {
		for _, keys = range t.byID {
		}
	}
	for _, k := range keys {
		if k.alg == alg {
			return k.key, nil
		}
	}
	if keys != nil {
		return nil, errKey
	}
	return nil, errKeyID
}

// retire says of each key in t that is not in next that it is gone.
func (t *keyTable) retire(next *keyTable) {
	for id, keys := range t.byID {
		for _, k := range keys {
			if !slices.Contains(next.byID[id], k) {
				k.gone.Store(true)
			}
		}
	}
}
