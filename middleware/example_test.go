package middleware_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// must stands for your error handling.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// apiKey stands for a resolver, such as one of package jwttenant.
type apiKey map[string]tenant.Tenant

func (k apiKey) Resolve(r *http.Request) (tenant.Tenant, error) {
	key := r.Header.Get("X-Api-Key")
	t, ok := k[key]
	switch {
	case key == "":
		return tenant.Tenant{}, tenant.ErrNoCredential
	case !ok:
		return tenant.Tenant{}, tenant.ErrInvalid
	}
	return t, nil
}

var keys = apiKey{"k1": {ID: "acme", Tier: "free"}, "k2": {ID: "globex", Tier: "pro"}}

// call prints the answer to a request.
func call(h http.Handler, method, path, key string) {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("X-Api-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("RateLimit"), w.Body)
}

func exampleTiers() *tenant.Tiers {
	return must(tenant.NewTiers("free",
		tenant.Tier{Name: "free", Rate: 2, Burst: 10, Share: 2},
		tenant.Tier{Name: "pro", Rate: 20, Burst: 60, Share: 6}))
}

func hello(w http.ResponseWriter, r *http.Request) {
	t, _ := tenant.FromContext(r.Context())
	fmt.Fprint(w, "hello ", t)
}

// The whole chain on a chi router. Operations cost what their routes say, also under Use.
func ExampleNew_chi() {
	tiers, costs := exampleTiers(), quota.Costs{"GET /search/{what}": 5}
	limiter := must(quota.New(quota.Config{Tiers: tiers, Costs: costs}))
	defer limiter.Close()
	slots := must(fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers}))

	r := chi.NewRouter()
	gate := must(middleware.New(middleware.Config{
		Resolver: keys, Quota: limiter, Slots: slots, Operation: middleware.ChiPattern(r),
	}))
	defer gate.Close()
	r.Use(gate.Handler)
	r.Get("/", hello)
	r.Get("/search/{what}", hello)
	if err := middleware.CheckCosts(r, costs); err != nil {
		panic(err)
	}

	call(r, "GET", "/", "k1")
	call(r, "GET", "/search/socks", "k1")
	call(r, "GET", "/", "k2")
	// Output:
	// 200 "free";r=9;t=1 hello acme (free)
	// 200 "free";r=4;t=1 hello acme (free)
	// 200 "pro";r=59;t=1 hello globex (pro)
}

// The whole chain on the standard library.
func ExampleNew_serveMux() {
	tiers := exampleTiers()
	limiter := must(quota.New(quota.Config{Tiers: tiers, Costs: quota.Costs{"POST /exports": 25}}))
	defer limiter.Close()

	mux := http.NewServeMux()
	mux.HandleFunc("POST /exports", hello)
	gate := must(middleware.New(middleware.Config{Resolver: keys, Quota: limiter, Operation: middleware.MuxPattern(mux)}))
	defer gate.Close()

	call(gate.Handler(mux), "POST", "/exports", "k2")
	call(gate.Handler(mux), "POST", "/exports", "k1") // more than its plan ever allows
	// Output:
	// 200 "pro";r=35;t=1 hello globex (pro)
	// 429 "free";r=10 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":429,"detail":"The operation takes more than the plan ever allows.","reason":"plan","tier":"free","limit":"free","violated-policies":["free"]}
}

// Piece by piece: who asks is found out everywhere, quota and slots are for the API only.
func ExampleGate_Tenant() {
	tiers := exampleTiers()
	limiter := must(quota.New(quota.Config{Tiers: tiers}))
	defer limiter.Close()
	slots := must(fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers}))
	gate := must(middleware.New(middleware.Config{Resolver: keys, Quota: limiter, Slots: slots}))
	defer gate.Close()

	r := chi.NewRouter()
	r.Use(gate.Tenant)
	r.Get("/account", hello)
	r.Route("/api", func(r chi.Router) {
		r.Use(gate.Quota, gate.Slots)
		r.Get("/orders", hello)
	})

	call(r, "GET", "/account", "k1")
	call(r, "GET", "/api/orders", "k1")
	// Output:
	// 200  hello acme (free)
	// 200 "free";r=9;t=1 hello acme (free)
}

// How long a request may wait for its slot and run must fit into the server's WriteTimeout.
func ExampleGate_Handler() {
	const maxWait, handlerTime = 2 * time.Second, 10 * time.Second
	slots := must(fairslots.New(fairslots.Config{Capacity: 10, Tiers: exampleTiers(), MaxWait: maxWait}))
	gate := must(middleware.New(middleware.Config{Resolver: keys, Slots: slots}))
	defer gate.Close()
	server := &http.Server{
		Handler:      http.TimeoutHandler(gate.Handler(http.HandlerFunc(hello)), maxWait+handlerTime, "too late"),
		ReadTimeout:  5 * time.Second,
		WriteTimeout: maxWait + handlerTime + time.Second,
	}

	call(server.Handler, "GET", "/", "k1")

	ctx, cancel := context.WithTimeout(context.Background(), maxWait+handlerTime)
	defer cancel()
	fmt.Println(gate.Drain(ctx), server.Shutdown(ctx))
	// Output:
	// 200  hello acme (free)
	// <nil> <nil>
}

// An access log outside the gate has the tenant and the outcome on every line, also of what was refused: it puts a place
// for them into the context, and Observe fills it in. An http.TimeoutHandler would have to stand around both: it does not
// wait for Observe.
func ExampleConfig_observe() {
	type place struct{}
	limiter := must(quota.New(quota.Config{Tiers: exampleTiers(), Costs: quota.Costs{quota.DefaultOperation: 6}}))
	defer limiter.Close()
	gate := must(middleware.New(middleware.Config{
		Resolver: keys, Quota: limiter,
		Observe: func(r *http.Request, outcome middleware.Outcome) {
			if o, ok := r.Context().Value(place{}).(*middleware.Outcome); ok {
				*o = outcome
			}
		},
	}))
	defer gate.Close()
	accessLog := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var o middleware.Outcome
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), place{}, &o)))
			fmt.Printf("%s %s tenant=%v %s reason=%s\n", r.Method, r.URL.Path, o.Tenant, o.Result, o.Reason)
		})
	}

	h := accessLog(gate.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	for _, key := range []string{"k1", "k1", "stolen"} {
		r := httptest.NewRequest("GET", "/orders", nil)
		r.Header.Set("X-Api-Key", key)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	// Output:
	// GET /orders tenant=acme (free) admitted reason=
	// GET /orders tenant=acme (free) refused reason=tenant
	// GET /orders tenant= unauthenticated reason=
}

// An answer of your own to refusals. Retry-After and the rate headers are set already.
func ExampleConfig_refuse() {
	limiter := must(quota.New(quota.Config{Tiers: exampleTiers(), Costs: quota.Costs{quota.DefaultOperation: 6}}))
	defer limiter.Close()
	gate := must(middleware.New(middleware.Config{
		Resolver: keys, Quota: limiter,
		Refuse: func(w http.ResponseWriter, _ *http.Request, refusal *tenant.Refusal) {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprintf(w, "%s is short: back in %s s", refusal.Policy, w.Header().Get("Retry-After"))
		},
	}))
	defer gate.Close()

	h := gate.Handler(http.HandlerFunc(hello))
	call(h, "GET", "/", "k1")
	call(h, "GET", "/", "k1")
	// Output:
	// 200 "free";r=4;t=1 hello acme (free)
	// 429 "free";r=4;t=1 free is short: back in 1 s
}

// A feed of events gives its slot back, and counts among the streams that its tenant's plan allows.
func ExampleStream() {
	tiers := must(tenant.NewTiers("free", tenant.Tier{Name: "free", Share: 2, Streams: 1}))
	slots := must(fairslots.New(fairslots.Config{Capacity: 10, Tiers: tiers}))
	gate := must(middleware.New(middleware.Config{Resolver: keys, Slots: slots}))
	defer gate.Close()

	var feed http.Handler
	feed = gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := middleware.Stream(r.Context()); err != nil {
			middleware.Refuse(w, r, err)
			return
		}
		fmt.Fprintf(w, "slots in use: %d, streams: %d", slots.Stats().InUse, slots.Stats().Streams)
		call(feed, "GET", "/events", "k1") // another one meanwhile
	}))
	call(feed, "GET", "/events", "k1")
	// Output:
	// 429  {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":429,"detail":"Too many requests or streams of this tenant run or wait.","reason":"share","tier":"free","limit":"free","retry_after":1,"violated-policies":["free"]}
	//
	// 200  slots in use: 0, streams: 1
}

// A handler that asks a pool of its own answers a refusal as the gate answers those of its own.
func ExampleRefuse() {
	printers := must(fairslots.New(fairslots.Config{Capacity: 1, Tiers: exampleTiers(), MaxQueue: -1}))
	defer printers.Close()
	gate := must(middleware.New(middleware.Config{Resolver: keys}))
	defer gate.Close()
	h := gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, _ := tenant.FromContext(r.Context())
		release, err := printers.Acquire(r.Context(), t)
		if err != nil {
			middleware.Refuse(w, r, err)
			return
		}
		defer release()
		fmt.Fprint(w, "printed")
	}))

	call(h, "POST", "/labels", "k1")
	release, _ := printers.TryAcquire(tenant.Tenant{ID: "globex"})
	defer release()
	call(h, "POST", "/labels", "k1")
	// Output:
	// 200  printed
	// 503  {"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Service at capacity","status":503,"detail":"The service is at its capacity.","reason":"capacity","tier":"free","limit":"free","retry_after":1,"violated-policies":["free"]}
}

// An export keeps the database as busy as three other requests.
func ExampleConfig_weights() {
	weights := map[string]int{"POST /exports": 3} // slots; what is not listed takes one
	slots := must(fairslots.New(fairslots.Config{Capacity: 10, Tiers: exampleTiers()}))
	mux := http.NewServeMux()
	gate := must(middleware.New(middleware.Config{
		Resolver: keys, Slots: slots, Operation: middleware.MuxPattern(mux), Weights: weights,
	}))
	defer gate.Close()
	inUse := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, slots.Stats().InUse) }
	mux.HandleFunc("POST /exports", inUse)
	mux.HandleFunc("GET /orders", inUse)
	if err := middleware.CheckCosts(mux, weights); err != nil { // a misspelt route would silently take one
		panic(err)
	}

	call(gate.Handler(mux), "POST", "/exports", "k2")
	call(gate.Handler(mux), "GET", "/orders", "k2")
	// Output:
	// 200  3
	// 200  1
}

// What goes on for long gives its slot back once the expensive part is done. Nothing bounds how many do; see Stream.
func ExampleRelease() {
	slots := must(fairslots.New(fairslots.Config{Capacity: 1, Tiers: exampleTiers()}))
	gate := must(middleware.New(middleware.Config{Resolver: keys, Slots: slots}))
	defer gate.Close()
	stream := gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("in use:", slots.Stats().InUse)
		middleware.Release(r.Context())
		fmt.Println("in use:", slots.Stats().InUse)
	}))
	call(stream, "GET", "/events", "k1")
	// Output:
	// in use: 1
	// in use: 0
	// 200
}

// A gate is a collector. Two in one registry have two names.
func ExampleGate_Collect() {
	registry := prometheus.NewRegistry()
	fmt.Println(registry.Register(must(middleware.New(middleware.Config{Name: "api"}))))
	fmt.Println(registry.Register(must(middleware.New(middleware.Config{Name: "admin"}))))
	fmt.Println(registry.Register(must(middleware.New(middleware.Config{Name: "api"}))))
	// Output:
	// <nil>
	// <nil>
	// duplicate metrics collector registration attempted
}

func ExampleChiPattern() {
	r := chi.NewRouter()
	r.Route("/api", func(r chi.Router) { r.Get("/orders/{id}", hello) })
	operation := middleware.ChiPattern(r)
	fmt.Println(operation(httptest.NewRequest("GET", "/api/orders/7", nil)))
	fmt.Println(operation(httptest.NewRequest("POST", "/api/orders/7", nil)))
	// Output:
	// GET /api/orders/{id}
	// unmatched
}

func ExampleMuxPattern() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", hello)
	mux.HandleFunc("/any", hello)
	operation := middleware.MuxPattern(mux)
	fmt.Println(operation(httptest.NewRequest("HEAD", "/orders/7", nil)))
	fmt.Println(operation(httptest.NewRequest("PUT", "/any", nil)))
	// Output:
	// GET /orders/{id}
	// PUT /any
}

func ExampleCheckCosts() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", hello)
	fmt.Println(middleware.CheckCosts(mux, quota.Costs{"GET /orders/{id}": 2, "GET /order/{id}": 2}))
	// Output:
	// middleware: operation "GET /order/{id}": no such route
}
