package redistest

// For the tests: what the package itself speaks to its servers with, and the start whose ports can be made to clash.
var (
	Ask          = ask
	Poll         = poll
	LaunchFunc   = launch
	ErrPortTaken = errPortTaken
)

// PID returns the number of the server's last process.
func (s *Server) PID() int { return s.process.Pid }
