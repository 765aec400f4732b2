package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is text in columns, for the terminal and for the page.
type table struct {
	head []string
	rows [][]string
	// names is how many columns at the left are names; the others are figures.
	names int
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes names left and figures right aligned, two spaces apart.
func (t *table) print(out io.Writer) {
	widths := make([]int, len(t.head))
	lines := append([][]string{t.head}, t.rows...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			width := widths[i]
			if i < t.names {
				width = -width
			}
			fmt.Fprintf(&b, "%*s  ", width, cell)
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
}

// Head and Rows are for the page, whose template can read nothing else.
func (t *table) Head() []string   { return t.head }
func (t *table) Rows() [][]string { return t.rows }

// Figure says whether column i is one.
func (t *table) Figure(i int) bool { return i >= t.names }
