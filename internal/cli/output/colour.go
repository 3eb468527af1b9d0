package output

import (
	"bytes"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// Sequences that terminals understand.
const (
	plainText = "\x1b[0m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	grey      = "\x1b[90m"
)

// colours of lines, by how they begin. The first that fits counts.
var colours = []struct{ begin, colour string }{
	{"# error", red}, {"# warning", yellow}, {"#", grey},
	{"+", green}, {"~", yellow}, {"-", red}, {".", grey},
	{"ok ", green}, {"warning ", yellow}, {"error ", red},
}

// painter writes whole lines for a terminal: coloured by their first characters, and wrapped at its width.
type painter struct {
	w        io.Writer
	line     bytes.Buffer
	coloured bool
	width    int // 0: lines are not wrapped
}

// Write implements io.Writer. A line is written when it is complete.
func (p *painter) Write(b []byte) (int, error) {
	p.line.Write(b)
	for {
		i := bytes.IndexByte(p.line.Bytes(), '\n')
		if i < 0 {
			return len(b), nil
		}
		if _, err := io.WriteString(p.w, p.paint(strings.TrimSuffix(string(p.line.Next(i+1)), "\n"))); err != nil {
			return len(b), err
		}
	}
}

func (p *painter) paint(line string) string {
	colour, plain := p.colourOf(line), ""
	if colour != "" {
		plain = plainText
	}
	var out strings.Builder
	for _, part := range wrapped(line, p.width) {
		out.WriteString(colour + part + plain + "\n")
	}
	return out.String()
}

func (p *painter) colourOf(line string) string {
	if !p.coloured {
		return ""
	}
	for _, seen := range []string{"  was ", "  now "} { // of tree --watch
		line = strings.TrimPrefix(line, seen)
	}
	for _, c := range colours {
		if strings.HasPrefix(line, c.begin) {
			return c.colour
		}
	}
	return ""
}

const (
	// narrowest is the width of a terminal under which nothing is wrapped.
	narrowest = 40
	// hanging is how much further than the line its continuations begin.
	hanging = 4
)

// wrapped breaks a line at spaces, so that no part is wider than a terminal. What follows the first part begins under its
// text. Words that are wider, such as ARNs, stay whole, so that they can be copied.
func wrapped(line string, width int) []string {
	if width < narrowest || utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	text := strings.TrimLeft(line, "+~-.# ")
	indent := strings.Repeat(" ", min(len(line)-len(text)+hanging, width/2))
	var out []string
	part, used := line[:len(line)-len(text)], len(line)-len(text)
	empty := true // the part has no word yet
	for gap, word := range wordsOf(text) {
		n := utf8.RuneCountInString(word)
		if !empty && used+len(gap)+n > width {
			out = append(out, part)
			part, used, gap = indent, len(indent), ""
		}
		part += gap + word
		used += len(gap) + n
		empty = false
	}
	return append(out, part)
}

// wordsOf returns the words of a text, each with the spaces before it.
func wordsOf(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for text != "" {
			rest := strings.TrimLeft(text, " ")
			gap := text[:len(text)-len(rest)]
			word, _, _ := strings.Cut(rest, " ")
			if text = rest[len(word):]; !yield(gap, word) {
				return
			}
		}
	}
}
