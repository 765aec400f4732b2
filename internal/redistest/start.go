package redistest

import (
	"fmt"
	"os/exec"
	"testing"
)

// Binaries returns the paths of redis-server and valkey-server, of those that are on PATH.
func Binaries() []string {
	var found []string
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	return found
}

func defaultBinary() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("redistest: no redis-server: %w; `make test` installs it", err)
	}
	return path, nil
}

// Start starts a server for the test, with further settings as on redis-server's command line ("--maxmemory", "1mb"). It
// is killed when the test ends.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartBinary(t, binaryOrFatal(t), args...)
}

// StartBinary is Start with the server program at this path, for example one of [Binaries].
func StartBinary(t testing.TB, binary string, args ...string) *Server {
	t.Helper()
	return startFunc(t, binary, func() []string { return args })
}

// startFunc is StartBinary for settings that are made anew for each attempt.
func startFunc(t testing.TB, binary string, args func() []string) *Server {
	t.Helper()
	s, err := launch(binary, t.TempDir(), args)
	if err != nil {
		t.Fatal(err)
	}
	s.failed = func(err error) { t.Error(err) }
	t.Cleanup(s.Kill)
	return s
}

func binaryOrFatal(t testing.TB) string {
	t.Helper()
	binary, err := defaultBinary()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
