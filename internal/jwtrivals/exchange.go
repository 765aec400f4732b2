package main

import "net/http"

// exchange is a request, whose it was found to be, and the writer of an answer that nobody reads. One goroutine uses it
// again and again, so that it costs nothing.
type exchange struct {
	request *http.Request
	tenant  string // the tenant's ID, once it was found
	header  http.Header
}

// find finds the tenant of an exchange, and leaves it empty where the token is refused. It may be called concurrently.
type find func(*exchange)

func newExchange(token string) *exchange {
	r := must(http.NewRequest(http.MethodGet, "/orders", nil))
	r.Header.Set("Authorization", "Bearer "+token)
	return &exchange{request: r, header: http.Header{}}
}

func (x *exchange) Header() http.Header         { return x.header }
func (x *exchange) Write(b []byte) (int, error) { return len(b), nil }
func (x *exchange) WriteHeader(int)             {}
