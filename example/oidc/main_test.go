package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/internal/sentinel"
	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/jwttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sentinel.Watch(m)) }

func TestService_FindsTenantsByTokensOfItsIssuer(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	issuer := jwttest.New(jwttenant.Issuer{
		Issuer:      "http://" + server.Listener.Addr().String(),
		Audience:    "orders-api",
		TenantClaim: []string{"org", "id"},
	})
	server.Config.Handler = issuer
	server.Start()
	defer server.Close()
	service := start(t, config{
		issuer: server.URL, audience: "orders-api", tenantClaim: "org,id", algorithm: "ES256",
	})
	token := func(claims ...jwttest.Claims) string { return issuer.Token(tenant.Tenant{ID: "acme"}, claims...) }

	service.get("/readyz", "", 200, "") // the requests after it need not wait for keys
	service.get("/orders", token(), 200, "the orders of acme\n")
	service.get("/orders", "", 401, "")
	service.get("/orders", token(jwttest.Claims{"aud": "billing-api"}), 401, "")
	service.get("/orders", token(jwttest.Claims{"org": "acme"}), 403, "")
	service.get("/metrics", "", 200,
		`tenantgate_tenant_requests_total{gate="",outcome="admitted",reason="",tenant="acme",tier="standard"} 1`)

	want := `level=WARN msg="no tenant" status=401 error="tenant: no credential: no bearer token"
level=WARN msg="no tenant" status=401 error="tenant: invalid credential: aud does not name this service"
level=WARN msg="no tenant" status=403 error="tenant: forbidden: there is no tenant claim"
`
	if got := regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(service.stop(), ""); got != want {
		t.Errorf("the log has\n%s\nwant\n%s", got, want)
	}
}

func TestService_IsNotReadyWhileItsIssuerIsDown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	service := start(t, config{issuer: server.URL, audience: "orders-api", tenantClaim: "org_id", algorithm: "RS256"})

	service.get("/readyz", "", 503, "not ready\n")
	service.get("/metrics", "", 200, "tenantgate_")
	if logs := service.stop(); !strings.Contains(logs, "status 404") {
		t.Errorf("the log does not say why:\n%s", logs)
	}
}

func TestRun_WantsIssuerAndAudience(t *testing.T) {
	for _, c := range []config{{issuer: "https://id.example.com/"}, {audience: "orders-api"}} {
		if err := run(t.Context(), c, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "are required") {
			t.Errorf("run with %+v: %v, want an error with what is required", c, err)
		}
	}
}

// service is the program, while it serves.
type service struct {
	t       *testing.T
	client  *http.Client
	url     string
	ctrlC   context.CancelFunc
	stopped chan error
	logs    bytes.Buffer // read once run has returned
}

// start runs the program on a free port, and returns once it listens.
func start(t *testing.T, c config) *service {
	t.Helper()
	ctx, ctrlC := context.WithCancel(t.Context())
	s := &service{t: t, client: &http.Client{Transport: new(http.Transport)}, ctrlC: ctrlC, stopped: make(chan error, 1)}
	t.Cleanup(s.client.CloseIdleConnections)
	c.address = "127.0.0.1:0"
	printed, out := io.Pipe()
	go func() {
		err := run(ctx, c, out, &s.logs)
		_ = out.Close()
		s.stopped <- err
	}()
	curl, _ := bufio.NewReader(printed).ReadString('\n')
	url, ok := strings.CutPrefix(curl, `curl -H "Authorization: Bearer $TOKEN" `)
	if s.url, _ = strings.CutSuffix(url, "/orders\n"); !ok {
		ctrlC()
		t.Fatalf("no curl line, but %q; run: %v", curl, <-s.stopped)
	}
	return s
}

// get checks the answer to a request: its status, and that body is in it.
func (s *service) get(path, token string, status int, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if answer.StatusCode != status || !strings.Contains(string(got), body) || err != nil {
		s.t.Errorf("GET %s: got %d, %v and\n%s\nwant %d and a body with %q", path, answer.StatusCode, err, got, status, body)
	}
}

// stop ends the program as a signal does, and returns what it has logged.
func (s *service) stop() string {
	s.t.Helper()
	s.ctrlC()
	if err := <-s.stopped; err != nil {
		s.t.Errorf("run: %v", err)
	}
	return s.logs.String()
}
