package sentinel_test

import (
	"encoding/base64"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/tenantgate/tenantgate/internal/sentinel"
)

// runs is a testing.M that prints.
type runs func()

func (r runs) Run() int {
	r()
	return 0
}

// quietly runs do with nothing to be seen of its output.
func quietly(t *testing.T, do func() int) int {
	t.Helper()
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer nowhere.Close()
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = nowhere, nowhere
	defer func() {
		os.Stdout, os.Stderr = out, errs
		log.SetOutput(errs)
	}()
	return do()
}

func TestWatch_FailsWhereASecretIsPrinted(t *testing.T) {
	secret := sentinel.Text
	signature := strings.Repeat("Zm9v", 10)
	sentinel.Hide(signature)
	sentinel.Hide("short")
	for name, c := range map[string]struct {
		print func()
		want  int
	}{
		"nothing":            {func() {}, 0},
		"something else":     {func() { fmt.Println("sentinel-7Q short"); fmt.Fprintln(os.Stderr, "Zm9v") }, 0},
		"to stdout":          {func() { fmt.Println("x" + secret + "y") }, 1},
		"to stderr":          {func() { fmt.Fprintln(os.Stderr, secret) }, 1},
		"to the log":         {func() { log.Print(secret) }, 1},
		"to slog":            {func() { slog.Info("m", "key", secret) }, 1},
		"in pieces":          {func() { fmt.Print(secret[:5]); fmt.Print(secret[5:]) }, 1},
		"as bytes":           {func() { fmt.Println([]byte(secret)) }, 1},
		"as Go":              {func() { fmt.Printf("%x %d\n", secret, 1) }, 1},
		"capital":            {func() { fmt.Printf("%X\n", secret) }, 1},
		"base64":             {func() { fmt.Println(base64.StdEncoding.EncodeToString([]byte(`{"a":"` + secret + `"}`))) }, 1},
		"base64, at a place": {func() { fmt.Println(base64.URLEncoding.EncodeToString([]byte(`{"aa":"` + secret + `"}`))) }, 1},
		"base64, at another": {func() { fmt.Println(base64.URLEncoding.EncodeToString([]byte(`{"aaa":"` + secret + `"}`))) }, 1},
		"what is hidden":     {func() { fmt.Println("x." + signature) }, 1},
		"some of it":         {func() { fmt.Println(signature[:16]) }, 1},
		"after much else":    {func() { fmt.Println(strings.Repeat("a", 200_000), secret) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := quietly(t, func() int { return sentinel.Watch(runs(c.print)).Run() }); got != c.want {
				t.Errorf("the tests end with %d, want %d", got, c.want)
			}
		})
	}
}

func TestWatch_OutputAndCodeAreThoseOfTheTests(t *testing.T) {
	before := os.Stdout
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = in
	code := sentinel.Watch(failing{}).Run()
	now := os.Stdout
	os.Stdout = before
	in.Close()
	buf := make([]byte, 100)
	n, _ := out.Read(buf)
	if got := string(buf[:n]); code != 3 || got != "ran\n" || now != in {
		t.Errorf("code %d, output %q, want 3 and ran; the output is put back: %v", code, got, now == in)
	}
}

func TestWatch_CanBeSwitchedOff(t *testing.T) {
	t.Setenv("SENTINEL", "off")
	print := runs(func() { fmt.Println(sentinel.Text) })
	if got := quietly(t, func() int { return sentinel.Watch(print).Run() }); got != 0 {
		t.Errorf("the tests end with %d, want 0", got)
	}
}

type failing struct{}

func (failing) Run() int {
	fmt.Println("ran")
	return 3
}
