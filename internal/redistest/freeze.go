//go:build unix

package redistest

import "syscall"

// Freeze stops the server with SIGSTOP: it keeps its port and its connections, the system still accepts new ones in its
// name, and nobody is answered. It does nothing where the server is dead.
func (s *Server) Freeze() { _ = s.process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen server go on, with what was sent to it meanwhile.
func (s *Server) Thaw() { _ = s.process.Signal(syscall.SIGCONT) }
