package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// checkTarget says why writeFile must not replace what is called name: it is no file, or the trace.
func checkTarget(name, trace string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = os.Stat(filepath.Dir(name))
		return err
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("-html: %s is not a regular file", name)
	}
	if of, err := os.Stat(trace); err == nil && os.SameFile(info, of) {
		return fmt.Errorf("-html: %s is the trace", name)
	}
	return nil
}

// writeFile writes a file that is either complete or as it was before.
func writeFile(name string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // what a link names is replaced, not the link
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".plan-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	out := bufio.NewWriter(f)
	if err := errors.Join(write(out), out.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
