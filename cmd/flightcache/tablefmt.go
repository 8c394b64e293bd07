package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// maxCellWidth bounds a cell of a table, in terminal columns; longer text is cut and ends in an ellipsis.
const maxCellWidth = 48

// columnGap stands between two columns of a table.
const columnGap = "  "

// tableColumn is one column of a table.
type tableColumn struct {
	name string
	// note is written below the name: a column's type.
	note string
	// right aligns the column to the right, as numbers are.
	right bool
	width int
}

// table is text in aligned columns. Cells are printable: control characters in them are escaped. Fill columns first,
// then add rows, then write.
type table struct {
	columns []tableColumn
	// plain leaves out the head and does not cut cells.
	plain bool
	// maxWidth is the width that a line must fit in; columns that do not fit are left out. 0 is no bound.
	maxWidth int
	rows     [][]string
	headDone bool
	shown    int
}

// add appends a row; it has one cell for each column.
func (t *table) add(cells ...string) {
	row := make([]string, len(t.columns))
	for i := range row {
		row[i] = printable(cells[i])
		if !t.plain {
			row[i] = cut(row[i], maxCellWidth)
		}
	}
	t.rows = append(t.rows, row)
}

// write writes the rows added since the last write. The first call writes the head and fixes the columns' widths; what
// later rows do not fit in pushes its line's rest to the right, so a long table can be written in parts.
func (t *table) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	if !t.headDone {
		t.layOut()
		if !t.plain {
			t.writeHead(out)
		}
		t.headDone = true
	}
	for _, row := range t.rows {
		t.writeLine(out, func(i int) string { return row[i] })
	}
	t.rows = t.rows[:0]
	return out.Flush()
}

// hidden counts the columns that were left out because the line was full. It is known after the first write.
func (t *table) hidden() int { return len(t.columns) - t.shown }

func (t *table) layOut() {
	total := 0
	t.shown = len(t.columns)
	for i := range t.columns {
		c := &t.columns[i]
		c.name, c.note = cut(printable(c.name), maxCellWidth), cut(printable(c.note), maxCellWidth)
		if !t.plain {
			c.width = max(displayWidth(c.name), displayWidth(c.note))
		}
		for _, row := range t.rows {
			c.width = max(c.width, displayWidth(row[i]))
		}
		total += c.width
		if i > 0 {
			total += len(columnGap)
		}
		// The first column is always shown: a table without any says nothing.
		if t.maxWidth > 0 && total > t.maxWidth && i > 0 && i < t.shown {
			t.shown = i
		}
	}
}

func (t *table) writeHead(out *bufio.Writer) {
	t.writeLine(out, func(i int) string { return t.columns[i].name })
	for _, c := range t.columns {
		if c.note != "" {
			t.writeLine(out, func(i int) string { return t.columns[i].note })
			break
		}
	}
	t.writeLine(out, func(i int) string { return strings.Repeat("─", t.columns[i].width) })
}

func (t *table) writeLine(out *bufio.Writer, cell func(int) string) {
	var line strings.Builder
	for i := range t.shown {
		if i > 0 {
			line.WriteString(columnGap)
		}
		text := cell(i)
		pad := strings.Repeat(" ", max(0, t.columns[i].width-displayWidth(text)))
		if t.columns[i].right {
			line.WriteString(pad + text)
		} else {
			line.WriteString(text + pad)
		}
	}
	out.WriteString(strings.TrimRight(line.String(), " "))
	out.WriteByte('\n')
}

// printable escapes what a terminal would act upon or not show: control and format characters and bytes that are not
// UTF-8. Text of a dataset is not trusted to keep off the terminal.
func printable(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || (r != ' ' && !unicode.IsGraphic(r)) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == ' ' || unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}

// cut shortens s to at most width terminal columns, on a boundary of characters as they are seen.
func cut(s string, width int) string {
	if len(s) <= width || displayWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > width-1 {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

func displayWidth(s string) int { return uniseg.StringWidth(s) }

// thousands writes n with separators: 5,000,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// humanBytes writes a number of bytes in binary units: 315.1 MiB.
func humanBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if size /= 1024; size < 1023.95 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// plural writes a count with its noun: 1 row, 2,000 rows.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}
