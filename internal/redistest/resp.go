package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// replyWithin is how long a server may take for one reply, the connection included.
const replyWithin = time.Second

// serverError is an error that the server replied.
type serverError string

func (e serverError) Error() string { return "server replied: " + string(e) }

// ask sends one command on a connection of its own and returns the reply: a string, an int64, a []any of replies, or
// nil. An error that is nested in a reply is an element of it.
func ask(ctx context.Context, addr string, command ...string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, replyWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(conn, request.String()); err != nil {
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	reply, err := readReply(bufio.NewReader(conn))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	if failure, ok := reply.(serverError); ok {
		return nil, fmt.Errorf("%s: %w", command[0], failure)
	}
	return reply, nil
}

// readReply reads one reply of the protocol's second version, RESP2.
func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("an empty line instead of a reply")
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return serverError(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a reply: %q", line)
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		value := make([]byte, n+2) // and the end of the line
		_, err := io.ReadFull(r, value)
		return string(value[:n]), err
	case kind == '*':
		list := make([]any, n)
		for i := range list {
			if list[i], err = readReply(r); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("not a reply: %q", line)
}

// askInfo asks for a reply of lines "name:value", as INFO and CLUSTER INFO give, and returns it as a map.
func askInfo(ctx context.Context, addr string, command ...string) (map[string]string, error) {
	reply, err := ask(ctx, addr, command...)
	if err != nil {
		return nil, err
	}
	text, _ := reply.(string)
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info, nil
}

// poll calls check every few milliseconds until it returns nil, or until ctx ends: then its error says why ctx ended and
// what check still missed.
func poll(ctx context.Context, check func() error) error {
	ticker := time.NewTicker(3 * time.Millisecond)
	defer ticker.Stop()
	for {
		missing := check()
		if missing == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
		case <-ticker.C:
		}
	}
}
