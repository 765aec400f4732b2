package main

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

// pageTemplate escapes all that comes from a trace.
var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what its template shows.
type page struct {
	Trace    string
	About    []string
	Sections []section
	Terms    [][2]string
}

// section is about one table of tiers.
type section struct {
	Name, Tiers string
	Sweep       []plot
	// Losses say for each load of a sweep where fairslots is worse, nil where it does not take part.
	Losses [][2]string
	Cases  []pageCase
	Shown  shown
}

// pageCase is one load.
type pageCase struct {
	Title    string
	Policies *table
	Tiers    *table
	Verdicts []verdict
}

// shown is the load whose tenants are shown one by one.
type shown struct {
	Title  string
	Legend []label
	Rows   []shownPolicy
	// Waited says that anybody did.
	Waited bool
}

type shownPolicy struct {
	Name    string
	Plots   []plot
	Tenants *table
}

func renderPage(w io.Writer, r *result) error {
	p := page{Trace: r.trace.name, About: r.about(), Terms: terms}
	perTable := len(r.cases) / len(r.opts.tables)
	for i := range r.opts.tables {
		p.Sections = append(p.Sections, r.section(r.cases[i*perTable:(i+1)*perTable]))
	}
	return pageTemplate.Execute(w, p)
}

func (r *result) section(cases []*outcome) section {
	s := section{Name: cases[0].table.name, Tiers: cases[0].table.text, Sweep: r.sweepPlots(cases)}
	for _, of := range cases {
		if len(s.Sweep) > 0 && len(of.contests) > 0 {
			s.Losses = append(s.Losses, [2]string{plain(of.load), cmp.Or(of.where(), "none")})
		}
		s.Cases = append(s.Cases, pageCase{
			Title: of.point(), Policies: r.policyTable(of), Tiers: r.tierTable(of), Verdicts: of.verdicts(),
		})
		if of.shown {
			s.Shown = showCase(of)
		}
	}
	return s
}

func showCase(of *outcome) shown {
	c := newCast(of)
	s := shown{Title: of.point(), Legend: c.legend(of)}
	waits, busy := c.waitPlots(of), c.busyPlots(of)
	s.Waited = waits != nil
	for i, report := range of.reports {
		row := shownPolicy{Name: report.Policy, Tenants: tenantTable(report)}
		if waits != nil {
			row.Plots = append(row.Plots, waits[i])
		}
		if busy != nil {
			row.Plots = append(row.Plots, busy[i])
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}
