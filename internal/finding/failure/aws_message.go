package failure

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// AWSError is implemented by errors of the AWS SDK for calls that AWS answered with an error.
type AWSError interface {
	ErrorCode() string
	ErrorMessage() string
}

// maxReasonLength is the maximum length, in bytes, of an AWS message that is quoted in a finding.
const maxReasonLength = 360

// CodeAndMessage returns the code and the message of an AWS error, without the text that the SDK adds. For other errors it
// returns the text of the error, which is truncated if necessary.
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

// WithoutSDKText returns the text of an error. The text that the AWS SDK adds is replaced by the AWS code and message.
func WithoutSDKText(err error) string {
	var c AWSError
	text := err.Error()
	what, _, ofSDK := strings.Cut(text, "operation error ")
	if !ofSDK || !errors.As(err, &c) {
		return text
	}
	return what + CodeAndMessage(err)
}

// encodedPattern matches the encoded part of an EC2 authorization error, which only AWS can decode.
var encodedPattern = regexp.MustCompile(`\.? *Encoded authorization failure message: *\S*`)

// CleanMessage changes an AWS message so that it can be part of a sentence: it escapes characters that are not printable,
// removes encoded text and the final full stop, and truncates the message if necessary.
func CleanMessage(words string) string {
	words = encodedPattern.ReplaceAllString(finding.EscapeNonPrintable(words), "")
	return TruncateBytes(strings.TrimRight(strings.TrimSpace(words), "."), maxReasonLength)
}

// requestIDPattern matches the request ID in an AWS error, which is different in each response.
var requestIDPattern = regexp.MustCompile(`(?i)(, )?request ?id: ?[0-9a-f-]{8,}`)

// WithoutRequestID returns a text without AWS request IDs, so that equal errors have equal texts.
func WithoutRequestID(text string) string {
	if !strings.Contains(strings.ToLower(text), "request") { // few texts have a request ID, and the regular expression is slow
		return text
	}
	return requestIDPattern.ReplaceAllString(text, "")
}

// TruncateBytes shortens a text to at most the number of bytes in most, without cutting a character. It appends "…" to a
// shortened text.
func TruncateBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
