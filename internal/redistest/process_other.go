//go:build !linux

package redistest

import "syscall"

// childAttributes is empty: no system but Linux kills a child when its parent dies. The child hears a Ctrl-C with its
// parent instead.
func childAttributes() *syscall.SysProcAttr { return nil }
