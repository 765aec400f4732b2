package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// line is what the test looks at of a line of the access log.
type line struct {
	Method, Path    string
	Status          int
	Tenant          struct{ ID, Tier string }
	Outcome, Reason string
}

func TestAccessLog_EveryLineHasTenantAndOutcome(t *testing.T) {
	ctx, ctrlC := context.WithCancel(t.Context())
	tour, out := io.Pipe()
	var logs bytes.Buffer // read once run has returned
	stopped := make(chan error, 1)
	go func() { stopped <- run(ctx, "127.0.0.1:0", out, &logs) }()
	curl, err := bufio.NewReader(tour).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`-H 'Authorization: (Bearer \S+)' '(http://[^/]+)/orders/1'`).FindStringSubmatch(curl)
	if match == nil {
		t.Fatalf("no curl line, but %q", curl)
	}
	acme, url := match[1], match[2]

	send(t, "GET", url+"/orders/1", acme, 200)
	clock := open(t, "GET", url+"/clock", acme)
	if event, err := bufio.NewReader(clock.Body).ReadString('\n'); err != nil || !strings.HasPrefix(event, "data: ") {
		t.Errorf("the clock says %q, %v", event, err)
	}
	send(t, "GET", url+"/clock", acme, 429)    // one at a time
	send(t, "POST", url+"/exports", acme, 202) // costs 2: the burst of 5 is spent
	send(t, "GET", url+"/orders/2", acme, 429)
	send(t, "GET", url+"/orders/3", "", 401)
	send(t, "GET", url+"/orders/4", acme+"x", 401)
	ctrlC()
	if err := <-stopped; err != nil {
		t.Errorf("run: %v", err)
	}

	free := struct{ ID, Tier string }{"acme", "free"}
	want := []line{
		{"GET", "/orders/1", 200, free, "admitted", ""},
		{"GET", "/clock", 429, free, "admitted", ""}, // the handler answered it
		{"POST", "/exports", 202, free, "admitted", ""},
		{"GET", "/orders/2", 429, free, "refused", "tenant"},
		{Method: "GET", Path: "/orders/3", Status: 401, Outcome: "unauthenticated"},
		{Method: "GET", Path: "/orders/4", Status: 401, Outcome: "unauthenticated"},
		{"GET", "/clock", 200, free, "admitted", ""}, // until the service stopped
	}
	var got []line
	for decoder := json.NewDecoder(&logs); ; {
		var l line
		if err := decoder.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("access log (-want +got):\n%s", diff)
	}
}

func send(t *testing.T, method, url, authorization string, status int) {
	t.Helper()
	if answer := open(t, method, url, authorization); answer.StatusCode != status {
		t.Errorf("%s %s: got status %d, want %d", method, url, answer.StatusCode, status)
	}
}

// open sends a request, and leaves its answer to be read.
func open(t *testing.T, method, url, authorization string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}
