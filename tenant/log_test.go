package tenant_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tenantgate/tenantgate/tenant"
)

// inTenant handles each record as if it had been logged with acme in its context: slogtest logs without one.
type inTenant struct{ slog.Handler }

func (h inTenant) Handle(ctx context.Context, r slog.Record) error {
	return h.Handler.Handle(tenant.NewContext(ctx, acme), r)
}
func (h inTenant) WithAttrs(attrs []slog.Attr) slog.Handler {
	return inTenant{h.Handler.WithAttrs(attrs)}
}
func (h inTenant) WithGroup(name string) slog.Handler { return inTenant{h.Handler.WithGroup(name)} }

func TestLogHandler_IsAHandler(t *testing.T) {
	for name, wrap := range map[string]func(slog.Handler) slog.Handler{
		"without tenant": tenant.LogHandler,
		"with tenant":    func(h slog.Handler) slog.Handler { return inTenant{tenant.LogHandler(h)} },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			slogtest.Run(t,
				func(*testing.T) slog.Handler {
					out.Reset()
					return wrap(slog.NewJSONHandler(&out, nil))
				},
				func(t *testing.T) map[string]any {
					var line map[string]any
					if err := json.Unmarshal(out.Bytes(), &line); err != nil {
						t.Fatalf("%v in %s", err, &out)
					}
					return line
				})
		})
	}
}

func TestLogHandler_TenantStandsAtTheTop(t *testing.T) {
	const who = `"tenant":{"id":"acme","tier":"pro"}`
	tests := []struct {
		name string
		open func(*slog.Logger) *slog.Logger
		args []any
		want string // the line less level and msg
	}{
		{"nothing open", func(l *slog.Logger) *slog.Logger { return l }, nil, who},
		{"an attribute of the record", func(l *slog.Logger) *slog.Logger { return l }, []any{"a", 1}, who + `,"a":1`},
		{"more attributes than a record holds inline", func(l *slog.Logger) *slog.Logger { return l },
			[]any{"a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6, "g", 7},
			who + `,"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7`},
		{"attributes of the logger", func(l *slog.Logger) *slog.Logger { return l.With("a", 1).With("b", 2) }, []any{"c", 3},
			`"a":1,"b":2,` + who + `,"c":3`},
		{"a group", func(l *slog.Logger) *slog.Logger { return l.WithGroup("g") }, []any{"a", 1}, who + `,"g":{"a":1}`},
		{"attributes before and inside of a group",
			func(l *slog.Logger) *slog.Logger { return l.With("a", 1).WithGroup("g").With("b", 2).With("c", 3) }, []any{"d", 4},
			`"a":1,` + who + `,"g":{"b":2,"c":3,"d":4}`},
		{"groups in groups",
			func(l *slog.Logger) *slog.Logger {
				return l.WithGroup("g").With("b", 2).WithGroup("h").WithGroup("i").With("c", 3)
			},
			[]any{"d", 4}, who + `,"g":{"b":2,"h":{"i":{"c":3,"d":4}}}`},
		{"empty inner group", func(l *slog.Logger) *slog.Logger { return l.WithGroup("g").With("b", 2).WithGroup("h") }, nil,
			who + `,"g":{"b":2}`},
		{"empty groups", func(l *slog.Logger) *slog.Logger { return l.WithGroup("g").WithGroup("h") }, nil, who},
		{"a group without a name", func(l *slog.Logger) *slog.Logger { return l.WithGroup("").With("a", 1) }, []any{"b", 2},
			`"a":1,` + who + `,"b":2`},
		{"group attributes", func(l *slog.Logger) *slog.Logger { return l.WithGroup("g").With(slog.Group("h", "a", 1)) },
			[]any{slog.Group("", "b", 2), slog.Group("i", "c", 3)}, who + `,"g":{"h":{"a":1},"b":2,"i":{"c":3}}`},
		{"a group called tenant", func(l *slog.Logger) *slog.Logger { return l.WithGroup("app").WithGroup("tenant") },
			[]any{"id", "theirs"}, who + `,"app":{"tenant":{"id":"theirs"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			h := tenant.LogHandler(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
			log := tt.open(slog.New(h))
			log.InfoContext(tenant.NewContext(t.Context(), acme), "m", tt.args...)
			if want := `{"level":"INFO","msg":"m",` + tt.want + "}\n"; out.String() != want {
				t.Errorf("got  %swant %s", &out, want)
			}
		})
	}
}

func TestLogHandler_EmptyTierIsShown(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(tenant.LogHandler(slog.NewTextHandler(&out, nil))).WithGroup("g")
	log.WarnContext(tenant.NewContext(t.Context(), tenant.Tenant{ID: "acme"}), "m", "a", 1)
	if !strings.HasSuffix(out.String(), `level=WARN msg=m tenant.id=acme tenant.tier="" g.a=1`+"\n") {
		t.Errorf("line %s", &out)
	}
}

// Loggers that share a parent must not write into one another's attributes.
func TestLogHandler_SiblingsDoNotShareAttributes(t *testing.T) {
	var out bytes.Buffer
	h := tenant.LogHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	ctx := tenant.NewContext(t.Context(), acme)
	// Three of each, added singly: append leaves room for a fourth, which siblings would share.
	groups := slog.New(h).WithGroup("g").WithGroup("h").WithGroup("i")
	attrs := groups.With("a", 1).With("b", 2).With("c", 3)
	var children []*slog.Logger
	var want string
	for i := range 4 {
		const common = "level=INFO msg=m tenant.id=acme tenant.tier=pro g.h.i."
		children = append(children, attrs.With("child", i), groups.WithGroup(fmt.Sprint("k", i)))
		want += fmt.Sprintf(common+"a=1 g.h.i.b=2 g.h.i.c=3 g.h.i.child=%d g.h.i.x=0\n", i)
		want += fmt.Sprintf(common+"k%d.x=0\n", i)
	}
	for _, l := range children {
		l.InfoContext(ctx, "m", "x", 0)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestLogHandler_KeepsSourceLevelAndLimits(t *testing.T) {
	var out bytes.Buffer
	h := tenant.LogHandler(slog.NewJSONHandler(&out, &slog.HandlerOptions{AddSource: true, Level: slog.LevelWarn}))
	log := slog.New(h).WithGroup("g")
	ctx := tenant.NewContext(t.Context(), acme)
	log.InfoContext(ctx, "below the level")
	log.ErrorContext(ctx, "m", "a", 1)
	line := out.String()
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, `"level":"ERROR"`) || !strings.Contains(line, "log_test.go") {
		t.Errorf("lines %s", line)
	}
}

// The model takes the slow way: it opens the same groups again for each line, on a handler that has the tenant already.
func TestLogHandler_AgreesWithReplay(t *testing.T) {
	handlers := map[string]func(*bytes.Buffer) slog.Handler{
		"json": func(out *bytes.Buffer) slog.Handler {
			return slog.NewJSONHandler(out, &slog.HandlerOptions{ReplaceAttr: withoutTime})
		},
		"text": func(out *bytes.Buffer) slog.Handler {
			return slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: withoutTime})
		},
	}
	for _, name := range slices.Sorted(maps.Keys(handlers)) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var got, want bytes.Buffer
				keys := 0 // each attribute has its own key, so that none can hide behind another
				attrs := func() (attrs []any) {
					for range rapid.IntRange(0, 4).Draw(t, "attributes") {
						keys++
						attrs = append(attrs, slog.Int(fmt.Sprint("k", keys), keys))
					}
					return attrs
				}
				ours := slog.New(tenant.LogHandler(handlers[name](&got)))
				model := slog.New(handlers[name](&want)).With("tenant", acme)
				for range rapid.IntRange(0, 8).Draw(t, "steps") {
					if rapid.Bool().Draw(t, "group") {
						group := rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "name")
						ours, model = ours.WithGroup(group), model.WithGroup(group)
					} else {
						with := attrs()
						ours, model = ours.With(with...), model.With(with...)
					}
				}
				args := attrs()
				ours.InfoContext(tenant.NewContext(context.Background(), acme), "m", args...)
				model.InfoContext(context.Background(), "m", args...)
				if g, w := inAnyOrder(got.String()), inAnyOrder(want.String()); g != w {
					t.Fatalf("got  %s\nwant %s\nfrom %s\nand  %s", g, w, &got, &want)
				}
			})
		})
	}
}

// inAnyOrder gives two lines the same form if they differ only in where the attribute tenant stands.
func inAnyOrder(line string) string {
	var object any
	if json.Unmarshal([]byte(line), &object) == nil {
		canonical, _ := json.Marshal(object)
		return string(canonical)
	}
	return strings.Join(slices.Sorted(strings.FieldsSeq(line)), " ")
}

// recorder is a handler of somebody else's: it keeps what it is given.
type recorder struct {
	calls  *[]string
	prefix string
}

func (h recorder) Enabled(context.Context, slog.Level) bool { return true }
func (h recorder) WithGroup(name string) slog.Handler {
	return recorder{h.calls, h.prefix + name + "|"}
}
func (h recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	return recorder{h.calls, h.prefix + fmt.Sprint(attrs) + "|"}
}
func (h recorder) Handle(_ context.Context, r slog.Record) error {
	line := h.prefix + r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	*h.calls = append(*h.calls, line)
	return nil
}

func TestLogHandler_WithoutTenantIsAsIfNotThere(t *testing.T) {
	var calls []string
	log := slog.New(tenant.LogHandler(recorder{calls: &calls})).With("a", 1).WithGroup("g").With("b", 2)
	log.InfoContext(t.Context(), "m", "c", 3)
	log.InfoContext(tenant.NewContext(t.Context(), acme), "m", "c", 3)
	want := []string{
		"[a=1]|g|[b=2]|m c=3",
		"[a=1]|m tenant=[id=acme tier=pro] g=[b=2 c=3]",
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("what the handler saw (-want +got):\n%s", diff)
	}
}

func TestLogHandler_OpensNothingForNothing(t *testing.T) {
	h := tenant.LogHandler(slog.DiscardHandler)
	if h.WithGroup("") != h || h.WithAttrs(nil) != h {
		t.Error("an empty group or no attributes make another handler")
	}
}

func TestLogHandler_RecordOfTheCallerIsNotChanged(t *testing.T) {
	var calls []string
	h := tenant.LogHandler(recorder{calls: &calls})
	r := slog.Record{Message: "m"}
	for i := range 7 {
		r.AddAttrs(slog.Int("a", i))
	}
	ctx := tenant.NewContext(t.Context(), acme)
	for range 2 {
		if err := h.Handle(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if r.NumAttrs() != 7 || calls[0] != calls[1] {
		t.Errorf("%d attributes after handling, want 7; handled %q", r.NumAttrs(), calls)
	}
}

func BenchmarkLogHandler(b *testing.B) {
	plain := slog.New(slog.NewJSONHandler(discard{}, nil))
	ours := slog.New(tenant.LogHandler(slog.NewJSONHandler(discard{}, nil)))
	nested := func(l *slog.Logger) *slog.Logger {
		return l.With("service", "orders").WithGroup("http").With("method", "GET")
	}
	in := tenant.NewContext(b.Context(), acme)
	for _, bb := range []struct {
		name string
		log  *slog.Logger
		ctx  context.Context
	}{
		{"flat/plain", plain, in},
		{"flat/no tenant", ours, b.Context()},
		{"flat/tenant", ours, in},
		{"group/plain", nested(plain), in},
		{"group/no tenant", nested(ours), b.Context()},
		{"group/tenant", nested(ours), in},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.log.LogAttrs(bb.ctx, slog.LevelInfo, "served", slog.Int("status", 200), slog.String("path", "/orders"))
			}
		})
	}
}

// discard is not io.Discard, which slog does not even format for.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
