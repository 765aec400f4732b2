package redistest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

func TestStart_LeavesNoProcess(t *testing.T) {
	t.Parallel()
	var pids []int
	t.Run("servers", func(t *testing.T) {
		frozen, restarted := redistest.Start(t), redistest.Start(t)
		frozen.Freeze()
		restarted.Kill()
		restarted.Restart()
		pids = append(pids, frozen.PID(), restarted.PID())
	})
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d: got %v, want %v", pid, err, syscall.ESRCH)
		}
	}
}

func TestLaunch_ServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), launchIn+"="+t.TempDir())
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	addr, readErr := bufio.NewReader(output).ReadString('\n')
	conn, err := net.Dial("tcp", strings.TrimSpace(addr))
	parent.Process.Kill()
	_ = parent.Wait() // says that it was killed
	if err != nil {
		t.Fatalf("the parent wrote %q, %v: %v", addr, readErr, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %d bytes, %v from the server of a killed parent, want the end of the connection", n, err)
	}
}

// The kernel takes the thread that forked a child for its parent, so the child must not be forked on a thread that ends
// before this process does.
func TestStart_ServerOutlivesTheThreadOfItsCaller(t *testing.T) {
	t.Parallel()
	var s *redistest.Server
	var thread int
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		thread = syscall.Gettid()
		s = redistest.Start(t)
	}()
	<-done
	eventually(t, func() error {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		if errors.Is(err, fs.ErrNotExist) || thread == os.Getpid() { // the main thread never ends
			return nil
		}
		return fmt.Errorf("thread %d still runs: %v", thread, err)
	})
	wantReply(t, s, "PONG", "PING")
}
