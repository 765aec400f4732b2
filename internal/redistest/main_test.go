package redistest_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

// launchIn is the name of an environment variable: with it the test program does nothing but launch a server in the
// folder it gives, print its address, and wait to be killed.
const launchIn = "REDISTEST_LAUNCH_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(launchIn); dir != "" {
		s, err := redistest.Launch(dir)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.Addr())
		select {}
	}
	goleak.VerifyTestMain(m)
}

// ask returns the reply of the server, which must not be an error.
func ask(t *testing.T, s *redistest.Server, command ...string) any {
	t.Helper()
	reply, err := redistest.Ask(t.Context(), s.Addr(), command...)
	if err != nil {
		t.Fatalf("%s: %q: %v", s.Addr(), command, err)
	}
	return reply
}

// wantReply fails the test unless the server replies this.
func wantReply(t *testing.T, s *redistest.Server, want any, command ...string) {
	t.Helper()
	if got := ask(t, s, command...); got != want {
		t.Errorf("%s: %q: got %#v, want %#v", s.Addr(), command, got, want)
	}
}

// eventually waits for check to return nil.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := redistest.Poll(ctx, check); err != nil {
		t.Fatal(err)
	}
}
