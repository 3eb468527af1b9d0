package output

import (
	"bytes"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// ANSI escape sequences that set the colour of text.
const (
	resetColour = "\x1b[0m"
	red         = "\x1b[31m"
	green       = "\x1b[32m"
	yellow      = "\x1b[33m"
	grey        = "\x1b[90m"
)

// lineColours are the colours of lines, by the beginning of the line. The first matching prefix determines the colour.
var lineColours = []struct{ prefix, colour string }{
	{"# error", red}, {"# warning", yellow}, {"#", grey},
	{"+", green}, {"~", yellow}, {"-", red}, {".", grey},
	{"ok ", green}, {"warning ", yellow}, {"error ", red},
}

// terminalWriter writes complete lines to a terminal. The beginning of a line determines its colour. Lines are wrapped at
// the width of the terminal.
type terminalWriter struct {
	w          io.Writer
	buffered   bytes.Buffer // the text of an incomplete line
	hasColours bool
	width      int // in characters; 0 if lines are not wrapped
}

// Write implements io.Writer. A line is written when it is complete.
func (t *terminalWriter) Write(b []byte) (int, error) {
	t.buffered.Write(b)
	for {
		i := bytes.IndexByte(t.buffered.Bytes(), '\n')
		if i < 0 {
			return len(b), nil
		}
		if _, err := io.WriteString(t.w, t.format(strings.TrimSuffix(string(t.buffered.Next(i+1)), "\n"))); err != nil {
			return len(b), err
		}
	}
}

// format returns a line in its colour, wrapped at the width of the terminal.
func (t *terminalWriter) format(line string) string {
	colour, reset := t.colourOf(line), ""
	if colour != "" {
		reset = resetColour
	}
	var out strings.Builder
	for _, part := range wrap(line, t.width) {
		out.WriteString(colour + part + reset + "\n")
	}
	return out.String()
}

// colourOf returns the escape sequence for the colour of a line, "" for the default colour.
func (t *terminalWriter) colourOf(line string) string {
	if !t.hasColours {
		return ""
	}
	for _, prefix := range []string{"  was ", "  now "} { // lines of tree --watch
		line = strings.TrimPrefix(line, prefix)
	}
	for _, c := range lineColours {
		if strings.HasPrefix(line, c.prefix) {
			return c.colour
		}
	}
	return ""
}

const (
	// minWrapWidth is the minimum width of a terminal for which lines are wrapped, in characters.
	minWrapWidth = 40
	// continuationIndent is the additional indentation of the second and later parts of a line, in columns.
	continuationIndent = 4
)

// wrap breaks a line at spaces into parts of at most width characters. The second and later parts are indented. A longer
// word, such as an ARN, is not broken, so that it can be copied.
func wrap(line string, width int) []string {
	if width < minWrapWidth || utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	text := strings.TrimLeft(line, "+~-.# ")
	indent := strings.Repeat(" ", min(len(line)-len(text)+continuationIndent, width/2))
	var out []string
	part, used := line[:len(line)-len(text)], len(line)-len(text)
	empty := true // whether the part has no word yet
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

// wordsOf returns the words of a text, each after the spaces that precede it.
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
