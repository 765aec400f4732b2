package replay

import (
	"fmt"
	"strings"
)

// Policy is a way to hand out slots.
type Policy uint8

// The policies, in the order in which they are compared.
const (
	// Shared is one queue for all, first come first served: no tenants.
	Shared Policy = iota
	// Cap is package bulkhead: a tenant holds at most its share.
	Cap
	// Published is the rule that is often proposed: a tenant may have a free slot while it is below its share, or if no
	// other tenant waits.
	Published
	// FairSlots is package fairslots.
	FairSlots
)

var policyNames = [...]string{"shared", "cap", "published", "fairslots"}

// Policies returns all policies.
func Policies() []Policy { return []Policy{Shared, Cap, Published, FairSlots} }

func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy returns the policy that is called name.
func ParsePolicy(name string) (Policy, error) {
	for i, known := range policyNames {
		if name == known {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("replay: no policy %q, want one of %s", name, strings.Join(policyNames[:], ", "))
}
