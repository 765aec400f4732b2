package redisquota_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/quota/redisquota"
	"github.com/tenantgate/tenantgate/tenant"
)

// FuzzReply has a request read arbitrary bytes as the script's reply: whatever they say, what is believed of them is an
// answer.
func FuzzReply(f *testing.F) {
	for _, reply := range []string{"", "\x00", strings.Repeat("\x00", 48), strings.Repeat("\xff", 200)} {
		f.Add(reply, uint16(1))
		f.Add(reply, uint16(1000))
	}
	for _, seed := range redisquota.SampleReplies() {
		f.Add(seed, uint16(3))
	}
	tier := tenant.Tier{Name: "free", Rate: 10, Burst: 100, Quotas: tenant.Quotas{Day: 1000}}
	rules := quota.Rules{Tiers: catalogue(f, tier), Cluster: quota.Rate{PerSecond: 100, Burst: 1000}, Reserve: 0.2}
	f.Fuzz(func(t *testing.T, reply string, cost uint16) {
		calls := []quota.Call{
			{Tenant: "acme", Cost: int(cost)}, {Tenant: "globex", Cost: 1}, {Tenant: "acme", Cost: int(cost), Peek: true},
		}
		errs, missing, err := redisquota.ReadReply(rules, calls, reply)
		if err != nil {
			return
		}
		for i, c := range calls {
			if errs[i] == nil && missing[i] == "" {
				mustBeAnAnswer(t, &c)
			}
		}
	})
}

// mustBeAnAnswer checks that a result is one that a store may give.
func mustBeAnAnswer(t *testing.T, c *quota.Call) {
	t.Helper()
	r := &c.Result
	switch {
	case r.Allowed != (r.Reason == tenant.ReasonNone), r.Allowed != (r.RetryAfter == 0), r.RetryAfter < 0:
		t.Errorf("it does not know whether to allow: %+v", r)
	case r.Tier.Name != "free":
		t.Errorf("tier %q, which nobody asked for", r.Tier.Name)
	case math.IsNaN(r.Tokens), r.Tokens < 0, r.Tokens > float64(r.Tier.Burst), r.Full < 0:
		t.Errorf("%v tokens of %d, full in %v", r.Tokens, r.Tier.Burst, r.Full)
	case r.Charge.Units != 0 && (!r.Allowed || c.Peek || r.Charge.Units != c.Cost):
		t.Errorf("cost %d, peek %v, allowed %v: charged %d", c.Cost, c.Peek, r.Allowed, r.Charge.Units)
	}
	for _, units := range r.Spent.Units {
		if units < 0 {
			t.Errorf("spent %d", units)
		}
	}
}

// A server that does not speak as Redis does, or speaks of other things, is no reason to do anything but what the policy
// says.
func TestStore_FollowsItsPolicyWhateverTheServerReplies(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	bulk := func(b string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(b), b) }
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return string(b)
	}
	replies := []string{
		"+OK\r\n", ":42\r\n", "$-1\r\n", "_\r\n", "*0\r\n", "*2\r\n:1\r\n:2\r\n", "#t\r\n", "%1\r\n+a\r\n+b\r\n", ",1.5\r\n",
		"-ERR nonsense\r\n", "-\r\n", "-MOVED 1 127.0.0.1:1\r\n", "-ASK\r\n", "$5\r\nab\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
		bulk(""), bulk(strings.Repeat("\x00", 48)), bulk(strings.Repeat("\x00", 49)), bulk(noise(48)), bulk(noise(100)), bulk(noise(1000)),
	}
	for _, reply := range replies {
		t.Run(strconv.QuoteToASCII(reply[:min(len(reply), 20)]), func(t *testing.T) {
			t.Parallel()
			for _, policy := range []redisquota.Policy{redisquota.Local, redisquota.Closed, redisquota.Open} {
				client := redis.NewClient(&redis.Options{Addr: impostor(t, reply)})
				t.Cleanup(func() { client.Close() })
				r := newReplica(t, client, redisquota.Config{OnFailure: policy}, quota.Config{})
				for _, d := range r.awaitAlone("acme") {
					mustFollow(t, policy, d)
				}
			}
		})
	}
}

// impostor returns the address of a server that greets as Redis does, and has one reply to everything else.
func impostor(t *testing.T, reply string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				answer(conn, reply)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		conns.Wait()
	})
	return listener.Addr().String()
}

// answer reads commands, and replies, until the client hangs up or falls silent.
func answer(conn net.Conn, reply string) {
	in := bufio.NewReader(conn)
	for {
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		command, err := readCommand(in)
		if err != nil {
			return
		}
		answer := reply
		switch strings.ToLower(command[0]) {
		case "hello":
			answer = "%1\r\n+proto\r\n:3\r\n"
		case "client":
			answer = "+OK\r\n"
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// readCommand reads a command as clients send them: a list of strings.
func readCommand(in *bufio.Reader) ([]string, error) {
	number := func() (n int, err error) {
		line, err := in.ReadString('\n')
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(line[1:]))
		}
		return n, err
	}
	n, err := number()
	words := make([]string, n)
	for i := 0; i < n && err == nil; i++ {
		var length int
		if length, err = number(); err != nil {
			break
		}
		word := make([]byte, length+len("\r\n"))
		_, err = io.ReadFull(in, word)
		words[i] = string(word[:length])
	}
	return words, err
}
