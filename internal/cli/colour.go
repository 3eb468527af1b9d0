package cli

import (
	"bytes"
	"io"
	"strings"
)

// coloured reports whether text is shown in colours: on a terminal, unless NO_COLOR is set.
func (e Environment) coloured() bool {
	return e.Terminal && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
}

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

// painter colours whole lines by their first characters.
type painter struct {
	w    io.Writer
	line bytes.Buffer
}

// Write implements io.Writer. A line is written when it is complete.
func (p *painter) Write(b []byte) (int, error) {
	p.line.Write(b)
	for {
		i := bytes.IndexByte(p.line.Bytes(), '\n')
		if i < 0 {
			return len(b), nil
		}
		if _, err := io.WriteString(p.w, paint(string(p.line.Next(i+1)))); err != nil {
			return len(b), err
		}
	}
}

func paint(line string) string {
	for _, c := range colours {
		if strings.HasPrefix(line, c.begin) {
			return c.colour + strings.TrimSuffix(line, "\n") + plainText + "\n"
		}
	}
	return line
}
