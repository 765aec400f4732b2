package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/tenantgate/tenantgate/internal/flood"
)

// client sends requests as the two tenants of the flood do. It shares the machine's cores with the service that it
// measures, so what can be done ahead is: the bytes of each request are ready, and so is a connection for each, open and
// used before. What is left is a write and a read.
type client struct {
	address     string
	work        map[string][]byte // the request, by tenant
	connections chan *connection  // that are free, in the order in which they were used
}

type connection struct {
	net.Conn
	answers *bufio.Reader
}

// newClient returns a client of the API at address, with a token for each tenant. It has used every connection and every
// token once, so that the service knows them as one that has been up for a while does.
func newClient(ctx context.Context, address string, tokens map[string]string) (*client, error) {
	n := flood.Noisy.Requests + flood.Quiet.Requests
	c := &client{address: address, work: map[string][]byte{}, connections: make(chan *connection, n)}
	if err := c.prepare(ctx, tokens); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) prepare(ctx context.Context, tokens map[string]string) error {
	for range cap(c.connections) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.address)
		if err != nil {
			return err
		}
		c.connections <- &connection{conn, bufio.NewReader(conn)}
	}
	for range cap(c.connections) {
		if err := c.send(ctx, c.request("/healthz", "")); err != nil {
			return err
		}
	}
	for id, token := range tokens {
		c.work[id] = c.request("/work", token)
		if err := c.send(ctx, c.request("/whoami", token)); err != nil {
			return err
		}
	}
	return nil
}

// request returns a GET request as it goes over the wire.
func (c *client) request(path, token string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\n", path, c.address)
	if token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// send sends a request over a connection that is free, and returns once it was answered.
func (c *client) send(ctx context.Context, request []byte) error {
	conn := <-c.connections
	defer func() { c.connections <- conn }()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	if _, err := conn.Write(request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(conn.answers, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return nil
}

// close closes the connections. No request may be under way.
func (c *client) close() {
	close(c.connections)
	for conn := range c.connections {
		conn.Close()
	}
}
