package tenant_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantgate/tenantgate/tenant"
)

// site is a server that notes which tenant each request names, "-" for none, and redirects where its ?to= says.
type site struct {
	*httptest.Server
	mu  sync.Mutex
	saw []string
}

func newSite(t *testing.T) *site {
	s := &site{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	named := []string{}
	for name, values := range r.Header {
		if strings.Contains(strings.ToLower(name), "tenant") {
			named = append(named, values...)
		}
	}
	s.mu.Lock()
	s.saw = append(s.saw, strings.Join(append(named, "-")[:max(1, len(named))], ","))
	s.mu.Unlock()
	if hops := r.URL.Query()["to"]; len(hops) > 0 {
		next, _ := url.Parse(hops[0])
		next.RawQuery = url.Values{"to": hops[1:]}.Encode()
		http.Redirect(w, r, next.String(), http.StatusTemporaryRedirect)
	}
}

// seen returns what the site saw since it was asked last.
func (s *site) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	saw := s.saw
	s.saw = nil
	return saw
}

func request(t *testing.T, ctx context.Context, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func send(t *testing.T, client *http.Client, r *http.Request) {
	t.Helper()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestTransport_TellsOnlyTheChosenAcrossRedirects(t *testing.T) {
	ours, alsoOurs, third := newSite(t), newSite(t), newSite(t)
	client := &http.Client{Transport: &tenant.Transport{Hosts: []string{ours.URL, alsoOurs.URL}}}
	t.Cleanup(client.CloseIdleConnections)
	ctx := tenant.NewContext(t.Context(), acme)
	tests := []struct {
		name                    string
		hops                    []*site
		byHand                  bool // the caller set the header himself: http.Client copies it to every hop
		ours, alsoOurs, thirdly []string
	}{
		{"chosen", []*site{ours}, false, []string{"acme"}, nil, nil},
		{"third party", []*site{third}, false, nil, nil, []string{"-"}},
		{"third party, header set by hand", []*site{third}, true, nil, nil, []string{"-"}},
		{"redirect to a third party", []*site{ours, third}, false, []string{"acme"}, nil, []string{"-"}},
		{"redirect to a third party, header set by hand", []*site{ours, third}, true, []string{"acme"}, nil, []string{"-"}},
		{"redirect back", []*site{ours, third, ours}, false, []string{"acme", "acme"}, nil, []string{"-"}},
		{"redirect back, header set by hand", []*site{third, ours, third}, true, []string{"acme"}, nil, []string{"-", "-"}},
		{"redirect among the chosen", []*site{ours, alsoOurs}, false, []string{"acme"}, []string{"acme"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var to []string
			for _, hop := range tt.hops[1:] {
				to = append(to, hop.URL)
			}
			r := request(t, ctx, tt.hops[0].URL+"/?"+url.Values{"to": to}.Encode())
			if tt.byHand {
				r.Header.Set("X-Tenant-Id", "other")
			}
			before := r.Header.Clone()
			send(t, client, r)
			got := [][]string{ours.seen(), alsoOurs.seen(), third.seen()}
			if diff := cmp.Diff([][]string{tt.ours, tt.alsoOurs, tt.thirdly}, got); diff != "" {
				t.Errorf("seen by the two chosen and the third party (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, r.Header); diff != "" {
				t.Errorf("the caller's request changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestTransport_SaysWhatTheContextSaysOrNothing(t *testing.T) {
	s := newSite(t)
	tests := []struct {
		name   string
		ctx    context.Context
		header http.Header
		want   string
	}{
		{"tenant", tenant.NewContext(t.Context(), acme), nil, "acme"},
		{"no tenant", t.Context(), nil, "-"},
		{"anonymous", tenant.NewContext(t.Context(), tenant.Tenant{ID: tenant.AnonymousID}), nil, "_anonymous"},
		{"other value", tenant.NewContext(t.Context(), acme), http.Header{"X-Tenant-Id": {"evil", "evil2"}}, "acme"},
		{"other spelling", tenant.NewContext(t.Context(), acme),
			http.Header{"x-tenant-id": {"evil"}, "X_Tenant_Id": {"evil"}}, "acme"},
		{"other value, no tenant", t.Context(), http.Header{"X-Tenant-Id": {"evil"}}, "-"},
		{"other spelling, no tenant", t.Context(), http.Header{"X_TENANT_ID": {"evil"}, "x-tenant_Id": {"evil"}}, "-"},
		{"another header", t.Context(), http.Header{"X-Tenant-Ids": {"free text"}}, "free text"},
	}
	client := &http.Client{Transport: &tenant.Transport{Hosts: []string{s.URL}}}
	t.Cleanup(client.CloseIdleConnections)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request(t, tt.ctx, s.URL)
			r.Header = tt.header
			send(t, client, r)
			if got := s.seen(); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("the server saw %q, want %q", got, tt.want)
			}
		})
	}
}

// A proxy passes on what its clients send; none of them may choose the tenant that the upstream believes.
func TestTransport_BehindAProxyClientsCannotChooseTheTenant(t *testing.T) {
	upstream := newSite(t)
	target, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &tenant.Transport{Hosts: []string{upstream.URL}}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport}
	for _, ctx := range []context.Context{t.Context(), tenant.NewContext(t.Context(), acme)} {
		r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
		r.Header = http.Header{"X-Tenant-Id": {"evil"}, "X_tenant_id": {"evil"}, "Connection": {"X-Tenant-Id"}}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
	}
	if got, want := upstream.seen(), []string{"-", "acme"}; !slices.Equal(got, want) {
		t.Errorf("the upstream saw %q, want %q", got, want)
	}
}

func TestTransport_RequestsHostFieldDoesNotCount(t *testing.T) {
	s := newSite(t)
	client := &http.Client{Transport: &tenant.Transport{Hosts: []string{"http://api.example.com"}}}
	t.Cleanup(client.CloseIdleConnections)
	r := request(t, tenant.NewContext(t.Context(), acme), s.URL)
	r.Host = "api.example.com"
	send(t, client, r)
	if got := s.seen(); !slices.Equal(got, []string{"-"}) {
		t.Errorf("the server saw %q, want no tenant", got)
	}
}

func TestTransport_Settings(t *testing.T) {
	s := newSite(t)
	tests := []struct {
		name      string
		transport *tenant.Transport
		header    string
		want      string
	}{
		{"zero tells nobody and removes", &tenant.Transport{}, "X-Tenant-Id", ""},
		{"own header", &tenant.Transport{Hosts: []string{s.URL}, Header: "x-org"}, "X-Org", "acme"},
		{"own header, with an underscore", &tenant.Transport{Hosts: []string{s.URL}, Header: "x_org"}, "X_org", "acme"},
		{"own header leaves the default one alone", &tenant.Transport{Header: "x-org"}, "X-Tenant-Id", "other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got http.Header
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			tt.transport.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
				got = r.Header.Clone()
				return base.RoundTrip(r)
			})
			r := request(t, tenant.NewContext(t.Context(), acme), s.URL)
			r.Header.Set("X-Tenant-Id", "other")
			send(t, &http.Client{Transport: tt.transport}, r)
			if v := strings.Join(got[tt.header], ","); v != tt.want {
				t.Errorf("%s: %q, want %q", tt.header, v, tt.want)
			}
		})
	}
}

func TestTransport_InvalidIDIsNotSent(t *testing.T) {
	s := newSite(t)
	transport := &tenant.Transport{Hosts: []string{s.URL}}
	t.Cleanup(transport.CloseIdleConnections)
	for _, id := range []string{"", "a\r\nX-Admin: 1", "../x"} {
		body := &closing{}
		r := request(t, tenant.NewContext(t.Context(), tenant.Tenant{ID: id}), s.URL)
		r.Body = body
		if _, err := transport.RoundTrip(r); !errors.Is(err, tenant.ErrInvalidID) || !body.closed {
			t.Errorf("ID %q: error %v, body closed %t, want ErrInvalidID and a closed body", id, err, body.closed)
		}
	}
	if got := s.seen(); got != nil {
		t.Errorf("the server saw %q", got)
	}
}

func TestTransport_RequestWithoutAnyHeader(t *testing.T) {
	s := newSite(t)
	transport := &tenant.Transport{Hosts: []string{s.URL}}
	t.Cleanup(transport.CloseIdleConnections)
	r := request(t, tenant.NewContext(t.Context(), acme), s.URL)
	r.Header = nil
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := s.seen(); !slices.Equal(got, []string{"acme"}) || r.Header != nil {
		t.Errorf("the server saw %q and the request has headers %v, want acme and none", got, r.Header)
	}
}

// The values of trailers are known only once the body has been read: the copy that is sent must share them.
func TestTransport_CallerFillsInTrailersLate(t *testing.T) {
	got := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		got <- r.Header.Get("X-Tenant-Id") + " " + r.Trailer.Get("Checksum")
	}))
	defer s.Close()
	client := &http.Client{Transport: &tenant.Transport{Hosts: []string{s.URL}}}
	defer client.CloseIdleConnections()
	r := request(t, tenant.NewContext(t.Context(), acme), s.URL)
	r.Method, r.Trailer = "POST", http.Header{"Checksum": nil}
	r.Body = io.NopCloser(readFunc(func([]byte) (int, error) {
		r.Trailer.Set("Checksum", "4711")
		return 0, io.EOF
	}))
	send(t, client, r)
	if got := <-got; got != "acme 4711" {
		t.Errorf("the server got %q, want tenant acme and trailer 4711", got)
	}
}

func TestTransport_ConcurrentFirstUse(t *testing.T) {
	s := newSite(t)
	client := &http.Client{Transport: &tenant.Transport{Hosts: []string{s.URL}}}
	t.Cleanup(client.CloseIdleConnections)
	r := request(t, tenant.NewContext(t.Context(), acme), s.URL)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			resp, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
	}
	wg.Wait()
	if got, want := s.seen(), slices.Repeat([]string{"acme"}, 8); !slices.Equal(got, want) {
		t.Errorf("the server saw %q", got)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// closing is a body that notes that it was closed.
type closing struct{ closed bool }

func (*closing) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closing) Close() error           { c.closed = true; return nil }
