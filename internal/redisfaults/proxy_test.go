package redisfaults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/internal/redistest"
)

// quiet is a log of the client's in which its complaints about connections that a test has cut are lost.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	// toxiproxy never ends a slicer whose connection is closed while it has something to say.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*SlicerToxic).Pipe"))
}

// network is the way to a server of its own, which the test can make fail.
type network struct {
	t      *testing.T
	server *redistest.Server
	proxy  *toxiproxy.Proxy
}

var ports = func() *atomic.Uint32 {
	var next atomic.Uint32
	next.Store(rand.Uint32N(5000))
	return &next
}()

// newNetwork starts a server and a proxy before it.
func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{t: t, server: redistest.Start(t)}
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	for {
		// Below the ports that systems give to outgoing connections: one of these could keep the proxy from coming back.
		// Each once in this process: a proxy that is down for a while has to find its own again.
		port := 10_000 + int(ports.Add(1))%5000
		n.proxy = toxiproxy.NewProxy(api, t.Name(), fmt.Sprintf("127.0.0.1:%d", port), n.server.Addr())
		err := n.proxy.Start()
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { n.proxy.Stop() })
	return n
}

// toxic is a way to fail: its type, which stream it is in, and its settings, as toxiproxy's documentation has them. The
// zero toxic ends every connection, and has new ones refused.
type toxic struct {
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Attributes map[string]int `json:"attributes"`
}

// poison makes the network fail like this, from the next connection on.
func (n *network) poison(how toxic) {
	n.t.Helper()
	if how.Type == "" {
		n.proxy.Stop()
		return
	}
	// Connections that there are end: toxiproxy can block for good where it adds to one that is just ending.
	n.proxy.Stop()
	text, err := json.Marshal(how)
	if err == nil {
		_, err = n.proxy.Toxics.AddToxicJson(strings.NewReader(string(text)))
	}
	if err == nil {
		err = n.proxy.Start()
	}
	if err != nil {
		n.t.Fatalf("%+v: %v", how, err)
	}
}

// mend makes the network work. Connections that were poisoned are no more.
func (n *network) mend() {
	n.t.Helper()
	n.proxy.Stop()
	n.proxy.Toxics.ResetToxics(n.t.Context())
	if err := n.proxy.Start(); err != nil {
		n.t.Fatal(err)
	}
}
