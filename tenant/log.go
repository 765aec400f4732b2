package tenant

import (
	"context"
	"log/slog"
	"slices"
)

// LogHandler returns a handler that passes records on to h and adds a top-level group "tenant" with "id" and "tier" to
// each whose context carries a tenant, whatever groups the logger has open. Log with the methods that take a context:
// the others have none to carry a tenant.
//
// Records without a tenant reach h as if this handler were not there. Of those with one, h gets the groups that the
// logger has open as group attributes of the record, which the contract of [slog.Handler.WithGroup] makes the same
// thing. Attributes that were added before the first group was opened are formatted ahead of time where h does that;
// those inside of open groups are formatted for each record.
func LogHandler(h slog.Handler) slog.Handler { return &logHandler{root: h, leaf: h} }

// logHandler remembers what was opened inside the first group, because a handler with an open group can write nothing
// outside of it.
type logHandler struct {
	root slog.Handler // with the attributes that stand outside of any group
	leaf slog.Handler // with all attributes and groups
	open []logGroup   // what leaf has and root lacks, outermost first; never changed, only copied
}

// logGroup is an open group and the attributes added to it before the next one was opened.
type logGroup struct {
	name  string
	attrs []slog.Attr
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.leaf.Enabled(ctx, level)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	next := logHandler{root: h.root, leaf: h.leaf.WithAttrs(attrs)}
	if n := len(h.open); n == 0 {
		next.root = next.leaf
	} else {
		next.open = slices.Clone(h.open)
		next.open[n-1].attrs = slices.Concat(h.open[n-1].attrs, attrs)
	}
	return &next
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{
		root: h.root,
		leaf: h.leaf.WithGroup(name),
		open: append(slices.Clip(h.open), logGroup{name: name}),
	}
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	t, ok := FromContext(ctx)
	if !ok {
		return h.leaf.Handle(ctx, r)
	}
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	out.AddAttrs(slog.Attr{Key: "tenant", Value: t.LogValue()})
	if len(h.open) > 0 {
		out.AddAttrs(h.nest(r))
	} else {
		r.Attrs(func(a slog.Attr) bool { out.AddAttrs(a); return true })
	}
	return h.root.Handle(ctx, out)
}

// nest returns the outermost open group, with all that is in it: its attributes, the groups inside and, in the
// innermost, the attributes of r. All levels share one slice.
func (h *logHandler) nest(r slog.Record) slog.Attr {
	size := r.NumAttrs()
	for _, g := range h.open {
		size += len(g.attrs) + 1
	}
	all := make([]slog.Attr, 0, size)
	var inner slog.Attr
	for i, g := range slices.Backward(h.open) {
		start := len(all)
		all = append(all, g.attrs...)
		if i == len(h.open)-1 {
			r.Attrs(func(a slog.Attr) bool { all = append(all, a); return true })
		} else {
			all = append(all, inner)
		}
		inner = slog.Attr{Key: g.name, Value: slog.GroupValue(all[start:]...)}
	}
	return inner
}
