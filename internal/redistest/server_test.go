package redistest_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

func TestStart_EachServerIsItsOwn(t *testing.T) {
	t.Parallel()
	for _, binary := range redistest.Binaries() {
		t.Run(filepath.Base(binary), func(t *testing.T) {
			a, b := redistest.StartBinary(t, binary), redistest.StartBinary(t, binary, "--maxmemory", "7mb")
			ask(t, a, "SET", "key", "a")
			wantReply(t, b, nil, "GET", "key")
			wantReply(t, a, "a", "GET", "key")
			if got := ask(t, b, "CONFIG", "GET", "maxmemory").([]any); got[1] != "7340032" {
				t.Errorf("got %v, want the setting that was passed, 7 MiB", got)
			}
		})
	}
}

func TestRestart_IsEmptyUnlessPersistent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want any
	}{
		"by default":  {nil, nil},
		"append only": {[]string{"--appendonly", "yes", "--appendfsync", "always"}, "value"},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t, tt.args...)
			addr := s.Addr()
			ask(t, s, "SET", "key", "value")
			s.Kill()
			if conn, err := net.Dial("tcp", addr); err == nil {
				conn.Close()
				t.Error("somebody listens after Kill")
			}
			s.Kill() // does nothing
			if err := s.Restart(); err != nil || s.Addr() != addr {
				t.Errorf("Restart: got error %v and address %s, want none and %s", err, s.Addr(), addr)
			}
			wantReply(t, s, tt.want, "GET", "key")
		})
	}
}

func TestRestart_WaitsForTheDataToBeLoaded(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--key-load-delay", "50") // microseconds
	ask(t, s, "EVAL", "for i = 1, 5000 do redis.call('SET', i, i) end", "0")
	s.Kill()
	s.Restart()
	wantReply(t, s, "5000", "GET", "5000")
}

func TestRestart_ThatFailsFailsTheTest(t *testing.T) {
	t.Parallel()
	tb := &recorder{TB: t}
	s := redistest.Start(tb)
	if err := s.Restart(); err == nil || len(tb.errors) != 1 {
		t.Errorf("Restart of a server that runs: got error %v, and the test %q, want one of each", err, tb.errors)
	}
	wantReply(t, s, "PONG", "PING")
}

func TestRestart_FindsThePortTaken(t *testing.T) {
	t.Parallel()
	s, err := redistest.Launch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := redistest.Start(t)
	s.Close()
	_, port, _ := net.SplitHostPort(s.Addr())
	ask(t, other, "CONFIG", "SET", "port", port) // so that a Redis answers, but another one
	if err := s.Restart(); !errors.Is(err, redistest.ErrPortTaken) {
		t.Errorf("got %v, want %v", err, redistest.ErrPortTaken)
	}
}

func TestLaunch_TakesAnotherPortWhenOneIsTaken(t *testing.T) {
	t.Parallel()
	_, taken, _ := net.SplitHostPort(redistest.Start(t).Addr())
	for _, setting := range []string{"port", "cluster-port"} {
		t.Run(setting, func(t *testing.T) {
			attempts := 0
			s, err := redistest.LaunchFunc(redistest.Binaries()[0], t.TempDir(), func() []string {
				attempts++
				if attempts == 1 {
					return []string{"--cluster-enabled", "yes", "--" + setting, taken}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if attempts != 2 {
				t.Errorf("got %d attempts, want 2", attempts)
			}
			wantReply(t, s, "PONG", "PING")
		})
	}
}

func TestLaunch_SaysWhyTheServerDoesNotStart(t *testing.T) {
	t.Parallel()
	_, err := redistest.Launch(t.TempDir(), "--maxmemory", "much")
	if err == nil || !strings.Contains(err.Error(), "must be a memory value") {
		t.Errorf("got error %v, want one with the server's own words", err)
	}
	_, err = redistest.Launch(filepath.Join(t.TempDir(), "missing"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is missing: got error %v, want %v", err, os.ErrNotExist)
	}
}

func TestStart_WithoutRedisOnPathFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	tb := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		redistest.Start(tb)
	}()
	<-done
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "`make test` installs it") {
		t.Errorf("got %q, want one that says what installs it", tb.errors)
	}
}

func TestFreeze_NobodyAnswersUntilThaw(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	read := func(within time.Duration) (string, error) {
		if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, 64)
		n, err := conn.Read(reply)
		return string(reply[:n]), err
	}
	s.Freeze()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if reply, err := read(100 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("frozen: got %q, %v, want no answer", reply, err)
	}
	s.Thaw()
	if reply, err := read(5 * time.Second); reply != "+PONG\r\n" {
		t.Errorf("thawed: got %q, %v, want the answer to what was asked before", reply, err)
	}
	s.Freeze()
	s.Kill() // returns, though the server is frozen
	s.Freeze()
	s.Thaw()
}
