package redistest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	loopback = "127.0.0.1"
	// startWithin is how long a server may take to start. It needs some 10 ms; a machine can be very busy.
	startWithin = 10 * time.Second
	// attempts is how many ports are tried before a start fails.
	attempts = 5
)

// settings of every server. Those that a caller passes come after them, so they win.
const settings = "bind " + loopback + `
protected-mode no
daemonize no
save ""
appendonly no
repl-diskless-sync-delay 0
rdb-del-sync-files yes
`

// errPortTaken is why a server ended that found its port, or that of its cluster bus, in use.
var errPortTaken = errors.New("the port is taken")

// Server is a running Redis server. Addr may be called at any time; the other methods by one goroutine at a time.
type Server struct {
	binary, dir string
	port        int
	args        []string
	failed      func(error) // is told of errors that a test may overlook; nil for a server of no test

	process *process // the last one started
}

// Launch starts the redis-server on PATH, with further settings as on its command line. Its configuration, log and data
// are in dir, which no other server may use. It has the lifetime of this process at most; Close ends it before.
func Launch(dir string, args ...string) (*Server, error) {
	binary, err := defaultBinary()
	if err != nil {
		return nil, err
	}
	return launch(binary, dir, func() []string { return args })
}

// launch starts a server on a free port. Between the look for a free port and its use another process can take it: the
// server then ends, and the next attempt has another port, and calls args anew, which may need free ports too.
func launch(binary, dir string, args func() []string) (*Server, error) {
	for attempt := 1; ; attempt++ {
		s := &Server{binary: binary, dir: dir, port: freePort(), args: args()}
		config := fmt.Sprintf("port %d\n%s", s.port, settings)
		if err := os.WriteFile(s.config(), []byte(config), 0o600); err != nil {
			return nil, fmt.Errorf("redistest: %w", err)
		}
		err := s.start()
		if err == nil {
			return s, nil
		}
		if attempt == attempts || !errors.Is(err, errPortTaken) {
			return nil, err
		}
	}
}

// start starts the process and waits until it, and not another one on that port, answers.
func (s *Server) start() error {
	cmd := exec.Command(s.binary, append([]string{s.config()}, s.args...)...)
	cmd.Dir = s.dir
	// Only what this start says is of interest when it fails.
	if err := os.Remove(s.log()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("redistest: %w", err)
	}
	started, err := startProcess(cmd, s.log())
	if err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	s.process = started
	ctx, cancel := context.WithTimeoutCause(started.alive, startWithin, fmt.Errorf("not ready within %v", startWithin))
	defer cancel()
	err = poll(ctx, func() error {
		info, err := askInfo(ctx, s.Addr(), "INFO")
		switch {
		case err != nil:
			return err
		case info["process_id"] != strconv.Itoa(started.Pid):
			return fmt.Errorf("process %s answers, not process %d", info["process_id"], started.Pid)
		case info["loading"] == "1":
			return errors.New("it still reads its data")
		}
		return nil
	})
	if err == nil {
		return nil
	}
	started.kill()
	log := s.logTail()
	if strings.Contains(log, "Address already in use") {
		err = fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return fmt.Errorf("redistest: %s on %s: %w; its log ends with:\n%s", s.binary, s.Addr(), err, log)
}

// Addr returns the server's host and port, which stay the same over its restarts.
func (s *Server) Addr() string { return net.JoinHostPort(loopback, strconv.Itoa(s.port)) }

// Kill ends the server with SIGKILL, also a frozen one, and waits until it is gone. It does nothing where it is dead.
func (s *Server) Kill() { s.process.kill() }

// Close is Kill, for [io.Closer]; its error is always nil.
func (s *Server) Close() error {
	s.Kill()
	return nil
}

// Restart starts the server again after Kill, on the same port, and returns when it answers. It has nothing of what it
// held before unless its settings ask for persistence. Where that fails, its test fails, so that a test need not look
// at the error.
func (s *Server) Restart() error {
	err := fmt.Errorf("redistest: Restart of %s, which runs", s.Addr())
	if s.process.alive.Err() != nil {
		err = s.start()
	}
	if err != nil && s.failed != nil {
		s.failed(err)
	}
	return err
}

func (s *Server) config() string { return filepath.Join(s.dir, "redis.conf") }
func (s *Server) log() string    { return filepath.Join(s.dir, "log") }

// logTail returns the last lines of the log.
func (s *Server) logTail() string {
	const most = 2000
	log, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(log[max(0, len(log)-most):]))
}

// freePort returns a port of the loopback that nobody listens on. It is one below those that systems give to outgoing
// connections: a client that calls on a dead server again and again cannot be given that server's own port, which would
// connect it to itself and keep the server from coming back.
func freePort() int {
	const low, high = 15000, 32000
	for range 1000 {
		port := low + rand.IntN(high-low)
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err == nil {
			listener.Close()
			return port
		}
	}
	return low // nothing is free: the server will say so
}
