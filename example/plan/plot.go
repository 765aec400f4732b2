package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The size of a plot and of the place that is left for axes and labels, in the units of its view box. Two stand side by
// side on a screen, one fills a phone, and the letters are legible on both.
const (
	plotWidth, plotHeight = 520.0, 320.0
	marginLeft            = 68.0
	marginRight           = 14.0
	marginTop             = 34.0
	marginBottom          = 52.0
	labelWidth            = 112.0
	lineHeight            = 19.0
)

// plot is what the page's template draws.
type plot struct {
	Title, XTitle, YTitle string
	X, Y                  *axis
	// Right is where the frame ends, right of which lines are labelled.
	Right  float64
	Shapes []shape
	Labels []label
	// Figures are the same in figures, where there are few of them; else nil.
	Figures *table
}

// shape is a path with the class that colours it.
type shape struct{ Class, Path string }

// label is a text beside a shape, in its colour.
type label struct {
	Class, Text string
	X, Y        float64
}

// The template's view of the sizes.
func (plot) Width() float64  { return plotWidth }
func (plot) Height() float64 { return plotHeight }
func (plot) Left() float64   { return marginLeft }
func (plot) Top() float64    { return marginTop }
func (plot) Bottom() float64 { return plotHeight - marginBottom }
func (p plot) Centre() float64 {
	return marginLeft + (p.Right-marginLeft)/2
}

// apart moves labels up and down until they no longer overlap, in the order in which they are, between top and bottom.
func apart(labels []label, top, bottom float64) {
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.Y, b.Y) })
	for i := range labels {
		if i > 0 {
			top = labels[i-1].Y + lineHeight
		}
		labels[i].Y = max(labels[i].Y, top)
	}
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i].Y = min(labels[i].Y, bottom)
		bottom = labels[i].Y - lineHeight
	}
}

// path collects the commands of a shape.
type path struct{ strings.Builder }

func (p *path) move(x, y float64) { fmt.Fprintf(p, "M%.1f %.1f", x, y) }
func (p *path) line(x, y float64) { fmt.Fprintf(p, "L%.1f %.1f", x, y) }
func (p *path) across(x float64)  { fmt.Fprintf(p, "H%.1f", x) }
func (p *path) up(y float64)      { fmt.Fprintf(p, "V%.1f", y) }

// mark draws one of four signs around a point, so that lines can be told apart without their colours.
func (p *path) mark(kind int, x, y float64) {
	const r = 4.5
	switch kind % 4 {
	case 0: // a square
		fmt.Fprintf(p, "M%.1f %.1fh%.1fv%.1fh%.1fz", x-r, y-r, 2*r, 2*r, -2*r)
	case 1: // a triangle
		fmt.Fprintf(p, "M%.1f %.1fl%.1f %.1fh%.1fz", x, y-r-1, r+1, 2*r+1, -2*r-2)
	case 2: // a diamond
		fmt.Fprintf(p, "M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y-r-1.5, r+1.5, r+1.5, -r-1.5, r+1.5, -r-1.5, -r-1.5)
	default: // a disc
		fmt.Fprintf(p, "M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", x-r, y, r, r, 2*r, r, r, -2*r)
	}
}
