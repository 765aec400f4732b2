package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// A user who pastes the lines that -serve prints, in their order, and then presses Ctrl-C.
func TestServe_ItsCurlLinesShowWhatTheySay(t *testing.T) {
	ctx, ctrlC := context.WithCancel(t.Context())
	read, write := io.Pipe()
	stopped := make(chan error, 1)
	go func() {
		err := run(ctx, write, true, []string{"127.0.0.1:0"})
		write.CloseWithError(err)
		stopped <- err
	}()
	lines := readTour(t, read)

	curl := regexp.MustCompile(`^curl .*?(?:-H 'Authorization: Bearer (\S+)' )?'(http://[^'?]+)(\?n=\[1-15\])?'`)
	var got []string
	for _, line := range lines {
		match := curl.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		times := 1
		if match[3] != "" {
			times = 15
		}
		got = append(got, request(t, match[2], match[1], times))
	}
	ctrlC()
	rest, _ := io.ReadAll(read)
	if err := <-stopped; err != nil || string(rest) != "drained and stopped\n" {
		t.Errorf("after Ctrl-C: got error %v and output %q", err, rest)
	}

	want := []string{
		"200 acme (free)",
		"200 globex (pro)",
		"200 initech (enterprise)",
		"429 after 10 or more of 15",
		"429 after 10 or more of 15",
		"200 with metrics",
	}
	if len(got) != len(want) {
		t.Fatalf("got %d curl lines, want %d:\n%s", len(got), len(want), strings.Join(lines, "\n"))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("curl line %d: got %q, want %q", i+1, got[i], want[i])
		}
	}
}

func TestRun_RefusesArgumentsThatMeanNothing(t *testing.T) {
	for _, tt := range []struct {
		serve bool
		args  []string
	}{
		{false, []string{"serve"}},
		{true, []string{"127.0.0.1:0", "127.0.0.1:0"}},
		{true, []string{"nowhere"}},
	} {
		if err := run(t.Context(), io.Discard, tt.serve, tt.args); err == nil {
			t.Errorf("serve %v with arguments %q: got no error", tt.serve, tt.args)
		}
	}
}

// readTour reads what is printed up to the line about metrics, which is the last one before the server serves.
func readTour(t *testing.T, r io.Reader) (lines []string) {
	t.Helper()
	var text strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(text.String(), "grep ^tenantgate_\n\n") {
		n, err := r.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, text.String())
		}
		text.Write(buffer[:n])
	}
	return strings.Split(text.String(), "\n")
}

// request sends a request so many times, one after the other, and says what came of it.
func request(t *testing.T, url, token string, times int) string {
	t.Helper()
	var body []byte
	passed, refused := 0, 0
	for range times {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err = io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		switch answer.StatusCode {
		case http.StatusOK:
			passed++
		case http.StatusTooManyRequests:
			refused++
			if answer.Header.Get("Retry-After") != "1" || !strings.Contains(string(body), `"reason":"tenant"`) {
				t.Errorf("a refusal without its reason, or a Retry-After of 1: %v %s", answer.Header, body)
			}
		default:
			return answer.Status
		}
	}
	switch {
	case times > 1 && refused > 0 && passed >= 10:
		return "429 after 10 or more of 15"
	case refused > 0:
		return "429"
	case strings.Contains(string(body), "\ntenantgate_"):
		return "200 with metrics"
	}
	return "200 " + strings.TrimSpace(string(body))
}
