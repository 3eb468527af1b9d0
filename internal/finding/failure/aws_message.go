package failure

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// AWSError is an error that AWS returned for a call. The error types of the AWS SDK implement it.
type AWSError interface {
	ErrorCode() string
	ErrorMessage() string
}

// maxReasonLength is the maximum length, in bytes, of the text that a message quotes from AWS.
const maxReasonLength = 360

// CodeAndMessage returns the code and the message of an AWS error, without the text that the SDK adds.
func CodeAndMessage(err error) string {
	var c AWSError
	if !errors.As(err, &c) {
		return TruncateBytes(WithoutSDKText(err), maxReasonLength)
	}
	words := CleanMessage(c.ErrorMessage())
	if words == "" {
		return c.ErrorCode()
	}
	return c.ErrorCode() + ": " + words
}

// WithoutSDKText returns the text of an error, in which the code and the message of AWS replace the text that the SDK adds.
func WithoutSDKText(err error) string {
	var c AWSError
	text := err.Error()
	what, _, ofSDK := strings.Cut(text, "operation error ")
	if !ofSDK || !errors.As(err, &c) {
		return text
	}
	return what + CodeAndMessage(err)
}

// encodedPattern matches the part of a denial by EC2 that only AWS can decode.
var encodedPattern = regexp.MustCompile(`\.? *Encoded authorization failure message: *\S*`)

// CleanMessage returns a message of AWS in a form that fits into a sentence: printable, without encoded text and without the
// final full stop.
func CleanMessage(words string) string {
	words = encodedPattern.ReplaceAllString(finding.Printable(words), "")
	return TruncateBytes(strings.TrimRight(strings.TrimSpace(words), "."), maxReasonLength)
}

// TruncateBytes shortens a text to a number of bytes, at a whole character, with "…" at its end.
func TruncateBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
