package failure

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Coded is an error of AWS.
type Coded interface {
	ErrorCode() string
	ErrorMessage() string
}

// mostReason is the bound of what a message quotes of AWS.
const mostReason = 360

// Because returns the code and the message of an error of AWS, without what the SDK adds.
func Because(err error) string {
	var c Coded
	if !errors.As(err, &c) {
		return Cut(Plainly(err), mostReason)
	}
	words := Tidy(c.ErrorMessage())
	if words == "" {
		return c.ErrorCode()
	}
	return c.ErrorCode() + ": " + words
}

// Plainly returns an error without what the SDK adds: the operation, and the code and message of AWS.
func Plainly(err error) string {
	var c Coded
	text := err.Error()
	what, _, ofSDK := strings.Cut(text, "operation error ")
	if !ofSDK || !errors.As(err, &c) {
		return text
	}
	return what + Because(err)
}

// encoded is the part of EC2's denials that only AWS can read.
var encoded = regexp.MustCompile(`\.? *Encoded authorization failure message: *\S*`)

// Tidy returns AWS's words as a part of a sentence.
func Tidy(words string) string {
	words = encoded.ReplaceAllString(finding.Printable(words), "")
	return Cut(strings.TrimRight(strings.TrimSpace(words), "."), mostReason)
}

// Cut bounds a text at a whole character.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
