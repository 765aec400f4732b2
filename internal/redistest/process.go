package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// process is a child process.
type process struct {
	*os.Process
	// alive ends when the process has, and is reaped; its cause says how it ended.
	alive context.Context
}

// startProcess starts the command with its output in the file log. The child dies with this process where the system
// can see to that: [childAttributes].
func startProcess(cmd *exec.Cmd, log string) (*process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = childAttributes()

	alive, end := context.WithCancelCause(context.Background())
	started := make(chan error)
	go func() {
		// To Linux the parent of a child is the thread that forked it: if that ended the child would be killed. So the
		// thread is kept for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // what it says is in ProcessState too
			err = fmt.Errorf("process ended: %v", cmd.ProcessState)
		}
		end(err)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &process{cmd.Process, alive}, nil
}

// kill kills the process, if it lives, and waits for its end.
func (p *process) kill() {
	_ = p.Kill() // the only way to fail is that it has ended
	<-p.alive.Done()
}
