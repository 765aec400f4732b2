package main

import (
	"os"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output:
	// acme (free): 429 Too Many Requests, retry after 1 s
	// acme (free): 10 answered
	// globex (enterprise): 11 answered
}

// What README.md shows is what is compiled and run here.
func TestREADME_FirstProgramIsThisOne(t *testing.T) {
	readme := read(t, "../../README.md")
	_, program, found := strings.Cut(read(t, "main.go"), "\npackage main\n")
	if want := "```go\npackage main\n" + program + "```\n"; !found || !strings.Contains(readme, want) {
		t.Errorf("README.md has no code block that is main.go without its first comment:\n%s", want)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
