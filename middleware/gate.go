package middleware

import (
	"maps"
	"net/http"
	"slices"

	"github.com/tenantgate/tenantgate/tenant"
)

// Gate is the chain from tenant to slot, as middleware: the whole of it ([Gate.Handler]) or piece by piece
// ([Gate.Tenant], [Gate.Quota], [Gate.Slots], in this order). It is also a prometheus.Collector.
//
// It guarantees that each request is counted and observed once, by its outermost piece, and that a slot is given back
// however the handler ends. It starts no goroutine. [Gate.Close] closes the pool too, but not the limiter: close that
// yourself, after the gate. All methods may be called concurrently. The zero Gate is not usable.
type Gate struct {
	cfg        Config
	tierOf     func(tenant.Tenant) string // the tier that applies, before quota has spoken; nil: there is no telling
	catalogues []*tenant.Tiers            // of the limiter and the pool
	schemes    []string                   // that a client may say by who it is
	metrics    *metrics
	door       door
}

// New returns a gate. The error names every wrong setting.
func New(cfg Config) (*Gate, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	cfg.Weights = maps.Clone(cfg.Weights)
	g := &Gate{
		cfg:     cfg,
		schemes: schemesOf(cfg.Resolver),
		metrics: newMetrics(cfg.Name, cfg.TopTenants),
		door:    door{empty: make(chan struct{})},
	}
	if cfg.Quota != nil {
		g.catalogues = append(g.catalogues, cfg.Quota.Tiers())
	}
	if pool, ok := cfg.Slots.(interface{ Tiers() *tenant.Tiers }); ok && !slices.Contains(g.catalogues, pool.Tiers()) {
		g.catalogues = append(g.catalogues, pool.Tiers())
	}
	if pool, ok := cfg.Slots.(interface{ TierOf(tenant.Tenant) string }); ok {
		g.tierOf = pool.TierOf
	} else if len(g.catalogues) > 0 {
		g.tierOf = func(t tenant.Tenant) string { return g.catalogues[0].For(t).Name }
	}
	return g, nil
}

// Handler is the whole chain around next.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return &piece{g, next, stageTenant | stageQuota | stageSlots}
}

// Tenant is the first piece: it finds out who asks and puts the tenant into the context, or answers 400, 401, 403 or
// 503.
func (g *Gate) Tenant(next http.Handler) http.Handler { return &piece{g, next, stageTenant} }

// Quota is the second piece: it lets the limiter judge the request, tells the client what it has left, or answers 429.
// Without Config.Quota it lets everything pass.
//
// A piece other than Tenant takes the tenant from the request's context. Where there is none it is mounted wrongly, and
// answers 500.
func (g *Gate) Quota(next http.Handler) http.Handler { return &piece{g, next, stageQuota} }

// Slots is the third piece: it waits for a slot and holds it until next returns, or answers 429 or 503, and then gives
// back what quota took. Without Config.Slots it lets everything pass.
func (g *Gate) Slots(next http.Handler) http.Handler { return &piece{g, next, stageSlots} }

// stages are the parts of the chain that one piece is.
type stages uint8

const (
	stageTenant stages = 1 << iota
	stageQuota
	stageSlots
)

// piece is one mounted part of a gate.
type piece struct {
	*Gate
	next   http.Handler
	stages stages
}

func (pc *piece) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	around := passageOf(r.Context())
	if p := pc.continues(r, around); p != nil {
		pc.proceed(w, r, p)
		return
	}
	p := &passage{Context: r.Context(), gate: pc.Gate, outer: around, request: r, aside: holding{users: 1, given: true}}
	defer p.finish()
	pc.begin(w, r, p)
	p.returned = true
}

// continues returns the passage that an outer piece began and this one goes on with; nil: it begins one. A piece that
// finds out who asks always begins one, for it may be another tenant than outside.
func (pc *piece) continues(r *http.Request, around *passage) *passage {
	if pc.stages&stageTenant != 0 {
		return nil
	}
	if p := around.through(pc.Gate); p != nil && p.skipped {
		return p
	}
	t, _ := tenant.FromContext(r.Context())
	return around.of(pc.Gate, t.ID)
}

// begin takes a new passage up to the stages.
func (pc *piece) begin(w http.ResponseWriter, r *http.Request, p *passage) {
	if around := p.outer.through(pc.Gate); (around == nil || around.skipped) && pc.exempt(r) {
		p.skipped, p.host = true, around
		p.settle(Skipped, tenant.ReasonNone, 0, nil)
		pc.next.ServeHTTP(w, r.WithContext(p))
		return
	}
	t, denied := pc.identify(r, p)
	if denied != nil {
		pc.deny(w, r, p, denied)
		return
	}
	if host := p.outer.of(pc.Gate, t.ID); host != nil {
		p.visit(host)
	} else if denied := pc.adopt(r, p, t); denied != nil {
		pc.deny(w, r, p, denied)
		return
	}
	r = r.WithContext(withTenant(p, t, p.root().appliedTier()))
	if p.host == nil && !p.admit() {
		tier := pc.expectedTier(p)
		pc.refuse(w, r, p, &tenant.Refusal{Reason: tenant.ReasonClosing, Tier: tier, Policy: tier})
		return
	}
	pc.proceed(w, r, p)
}

// exempt reports whether the request passes without the gate. A plain OPTIONS request does not: it must not be a way
// around.
func (g *Gate) exempt(r *http.Request) bool {
	if g.cfg.SkipPreflights && r.Method == http.MethodOptions &&
		r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
		return true
	}
	return g.cfg.Skip != nil && g.cfg.Skip(r)
}

// proceed takes a passage through the piece's stages to the next handler.
func (pc *piece) proceed(w http.ResponseWriter, r *http.Request, p *passage) {
	if p.skipped {
		pc.next.ServeHTTP(w, r)
		return
	}
	if pc.stages&stageQuota != 0 && pc.cfg.Quota != nil {
		var passes bool
		if r, passes = pc.judge(w, r, p); !passes {
			return
		}
	}
	if pc.stages&stageSlots != 0 && pc.cfg.Slots != nil {
		pc.occupy(w, r, p, pc.next)
		return
	}
	p.settle(Admitted, tenant.ReasonNone, 0, nil)
	pc.next.ServeHTTP(w, r)
}
