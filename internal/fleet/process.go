package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// process is a replica in a process of its own.
type process struct {
	replicaAddrs
	cmd   *exec.Cmd
	stdin io.Closer
}

// startReplica starts a replica, and returns once it serves. It is killed when ctx ends. What it says goes to logs.
func startReplica(ctx context.Context, cfg replicaConfig, logs io.Writer) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self, replicaArg)}
	p.cmd.Stderr = logs
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	err = json.NewEncoder(stdin).Encode(cfg)
	if err == nil {
		err = json.NewDecoder(stdout).Decode(&p.replicaAddrs)
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("a replica did not start: %w", err)
	}
	return p, nil
}

// kill ends the replica with SIGKILL, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // or it has ended
	_ = p.cmd.Wait()         // which says that it was killed
}

// stop has the replica end in order, and returns when it has. The error says that it did not.
func (p *process) stop() error {
	if err := p.stdin.Close(); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// admin keeps no connections: a replica that is to end would wait for those that were never used.
var admin = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// stats asks the replica.
func (p *process) stats(ctx context.Context) (s replicaStats, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Admin, nil)
	if err != nil {
		return s, err
	}
	resp, err := admin.Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// awaitWithin is how long something may take that takes much less on a machine that is not busy.
const awaitWithin = 20 * time.Second

// await waits until check is true. Its error says what did not happen.
func await(ctx context.Context, what string, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		switch done, err := check(); {
		case err != nil:
			return fmt.Errorf("waiting for %s: %w", what, err)
		case done:
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}
