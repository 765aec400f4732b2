package redistest

import "syscall"

// childAttributes makes a child die with its parent, and not hear a Ctrl-C that is meant for the parent, which may still
// need it to end in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
