package tenant

import "context"

type contextKey struct{}

// NewContext returns a context that carries t.
func NewContext(ctx context.Context, t Tenant) context.Context {
	return context.WithValue(ctx, contextKey{}, &t)
}

// FromContext returns the tenant that ctx carries. ok is false, and the Tenant zero, where it carries none.
func FromContext(ctx context.Context) (t Tenant, ok bool) {
	p, ok := ctx.Value(contextKey{}).(*Tenant)
	if !ok {
		return Tenant{}, false
	}
	return *p, true
}

// Detach returns a context for a job that outlives the request it was started from: it carries ctx's tenant and
// nothing else, so it never ends by itself and keeps neither the request's credential, nor its slot, nor the values
// that a router will use again for the next request. Carry a trace over by hand.
func Detach(ctx context.Context) context.Context {
	t, ok := FromContext(ctx)
	if !ok {
		return context.Background()
	}
	return NewContext(context.Background(), t)
}
