package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// writeFile writes a file that is either complete or as it was before.
func writeFile(name string, write func(io.Writer) error) (err error) {
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
