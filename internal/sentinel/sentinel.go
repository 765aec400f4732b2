// Package sentinel fails the tests of a package if a secret gets into what they print, be it by the tests or by the code
// that they run: through os.Stdout, os.Stderr, package log or the default logger of slog. A test's own checks find only
// the secrets that it looks for, where it looks.
//
//	func TestMain(m *testing.M) { os.Exit(sentinel.Watch(m).Run()) }
//
// Secrets are [Text], which tests put into keys, and whatever they [Hide], such as the signature of each token: without it
// a token is no credential.
package sentinel

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
)

// Text is to be a part of the secrets that tests make up.
const Text = "sentinel-7Qz"

// window is how much of a hidden secret shows that it was printed: nobody prints so much by accident.
const window = 16

// hidden are the first bytes of the secrets that were hidden.
var hidden struct {
	mu      sync.RWMutex
	secrets map[string]struct{}
}

// Hide makes secret one that must not be printed. It does nothing with one of less than 16 bytes, nor once 100,000 are
// hidden, as by a fuzz target that makes some up each time.
func Hide(secret string) {
	const most = 100_000
	hidden.mu.Lock()
	defer hidden.mu.Unlock()
	if len(secret) < window || len(hidden.secrets) >= most {
		return
	}
	if hidden.secrets == nil {
		hidden.secrets = map[string]struct{}{}
	}
	hidden.secrets[secret[:window]] = struct{}{}
}

// Watch returns m with an eye on what it prints: Run fails if that has a secret in it. *[testing.M] is such an m.
//
// What was printed last is lost where a test panics, for it had not passed yet. SENTINEL=off in the environment watches
// nothing, to see it.
func Watch(m interface{ Run() int }) interface{ Run() int } {
	if os.Getenv("SENTINEL") == "off" {
		return m
	}
	return watched{m}
}

type watched struct{ m interface{ Run() int } }

func (w watched) Run() int {
	var leaks [2]leak
	restoreOut := divert(&os.Stdout, &leaks[0])
	restoreErr := divert(&os.Stderr, &leaks[1])
	log.SetOutput(os.Stderr)
	code := w.m.Run()
	log.SetOutput(restoreErr())
	restoreOut()
	for _, l := range leaks {
		if l.found {
			fmt.Fprintln(os.Stderr, "FAIL: a secret was printed (see package internal/sentinel)")
			return 1
		}
	}
	return code
}

// leak is what is known of one output.
type leak struct {
	found bool
	tail  string // the end of what was printed, which the next piece may complete to a secret
}

// divert has f pass through l. restore returns f as it was, once all that was written has passed.
func divert(f **os.File, l *leak) (restore func() *os.File) {
	before := *f
	out, in, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	*f = in
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.MultiWriter(l, before), out)
	}()
	return func() *os.File {
		*f = before
		_ = in.Close()
		<-done
		_ = out.Close()
		return before
	}
}

// Write looks for secrets in b. A secret that comes in two pieces is found too.
func (l *leak) Write(b []byte) (int, error) {
	const longest = 64 // of what is looked for
	text := l.tail + string(b)
	l.found = l.found || shows(text)
	l.tail = text[max(0, len(text)-longest):]
	return len(b), nil
}

// shows reports whether text has a secret in it.
func shows(text string) bool {
	for _, spelling := range spellings {
		if strings.Contains(text, spelling) {
			return true
		}
	}
	hidden.mu.RLock()
	defer hidden.mu.RUnlock()
	for i := range len(text) - window + 1 {
		if _, ok := hidden.secrets[text[i:i+window]]; ok {
			return true
		}
	}
	return false
}

// spellings are the ways in which Text may be printed: as it is, in hexadecimal and decimal, and in base64, where it looks
// different at each of three places.
var spellings = func() []string {
	decimal := strings.Trim(fmt.Sprint([]byte(Text)), "[]")
	all := []string{
		Text, hex.EncodeToString([]byte(Text)), strings.ToUpper(hex.EncodeToString([]byte(Text))),
		decimal, strings.ReplaceAll(decimal, " ", ", "), strings.ReplaceAll(decimal, " ", ","),
	}
	for before := range 3 {
		encoded := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", before) + Text))
		inner := encoded[before+1 : len(encoded)-2] // what does not depend on the bytes around it
		all = append(all, inner, strings.NewReplacer("-", "+", "_", "/").Replace(inner))
	}
	return all
}()
