package middleware

import (
	"context"
	"io"
	"net/http"
)

// bodiless reports whether there is nothing to read from resp, the response to r. ContentLength does not say so: a
// RoundTripper may leave it unset.
func bodiless(r *http.Request, resp *http.Response) bool {
	switch {
	case resp.Body == nil, resp.Body == http.NoBody:
		return true
	case resp.StatusCode == http.StatusSwitchingProtocols: // no matter what its header says of a length
		return false
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified, r.Method == http.MethodHead:
		return true
	}
	return resp.Header.Get("Content-Length") == "0" // over HTTP/2 the body is another than http.NoBody
}

// holdUntilRead returns the body of resp, which calls release when it has ended. release may be called again and at any
// time.
func holdUntilRead(ctx context.Context, resp *http.Response, release func()) io.ReadCloser {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if conn, ok := resp.Body.(io.ReadWriteCloser); ok {
			return &heldConn{conn, release}
		}
	}
	return &heldBody{resp.Body, release, context.AfterFunc(ctx, release)}
}

// heldBody is the body of a response whose call holds a slot. The call is over with its context: net/http drops the
// connection then.
type heldBody struct {
	io.ReadCloser
	release func()
	forget  func() bool // does not watch the context any longer
}

func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *heldBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func (b *heldBody) end() {
	b.forget()
	b.release()
}

// heldConn is what a call that switched protocols left: the slot is held until the connection is closed. One that has
// been read to its end can still be written to, and the request's context does not end it.
type heldConn struct {
	io.ReadWriteCloser
	release func()
}

func (c *heldConn) Close() error {
	defer c.release()
	return c.ReadWriteCloser.Close()
}
