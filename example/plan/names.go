package main

import "strings"

// names numbers the names of tenants, tiers or operations, and keeps each of them once, however often the trace has it.
type names struct {
	numbers map[string]uint32
	all     []string
}

// number returns the number of name, the next one where it is new. The name is copied: it may be part of a line.
func (n *names) number(name string) uint32 {
	if i, ok := n.numbers[name]; ok {
		return i
	}
	if n.numbers == nil {
		n.numbers = map[string]uint32{}
	}
	i := uint32(len(n.all))
	name = strings.Clone(name)
	n.numbers[name] = i
	n.all = append(n.all, name)
	return i
}
